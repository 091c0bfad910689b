/* Threads and processes of Java, and an end by System.exit with a shutdown hook. */
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicInteger;

public class Host {
	static int run(String... command) throws Exception {
		Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
		BufferedReader r = new BufferedReader(new InputStreamReader(p.getInputStream()));
		for (String line; (line = r.readLine()) != null;)
			System.out.println("child says " + line);
		return p.waitFor();
	}

	public static void main(String[] args) throws Exception {
		String actor = System.getenv("PROGRAMS") + "/actor";
		AtomicInteger sum = new AtomicInteger();
		Thread[] threads = new Thread[20];

		for (int i = 0; i < threads.length; i++) {
			int n = i;
			threads[i] = new Thread(() -> sum.addAndGet(n));
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
		System.out.println("sum " + sum.get());
		System.out.println("return " + run(actor, "return", "5"));
		System.out.println("killed " + run(actor, "kill", "9"));
		System.out.println("output " + run("/bin/echo", "hello"));
		System.out.println("shell " + run("/bin/sh", "-c", "exit 7"));
		Process sleeper = new ProcessBuilder("sleep", "60").start();
		sleeper.destroy();
		System.out.println("destroyed " + sleeper.waitFor());
		try {
			run("/no/such/program");
		} catch (java.io.IOException e) {
			System.out.println("missing");
		}
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("at the end")));
		System.err.println("to standard error");
		System.exit(23);
	}
}
