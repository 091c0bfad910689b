// Goroutines on threads of their own and child processes; with cgo (see cgo.go) and without.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

var fromC = func() int { return 0 }

func run(name string, args ...string) {
	out, err := exec.Command(name, args...).CombinedOutput()
	fmt.Printf("%q %v\n", out, err)
}

func main() {
	actor := os.Getenv("PROGRAMS") + "/actor"
	var group sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			// a goroutine that ends while locked takes its thread with it
			runtime.LockOSThread()
			lock.Lock()
			sum += n + fromC()
			lock.Unlock()
		}(i)
	}
	group.Wait()
	fmt.Println("sum", sum)
	run(actor, "return", "5")
	run(actor, "kill", "9")
	run(actor, "printf", "3")
	run("/bin/sh", "-c", "exit 7")
	run("/no/such/program")
	fmt.Fprintln(os.Stderr, "to standard error")
	os.Exit(23)
}
