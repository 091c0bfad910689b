/*
 * mpi_work SECONDS even|uneven|patient: ranks compute and meet in a barrier. even: all the same;
 * uneven: rank 0 has four times as much and the others spin in the barrier; patient: the same, but
 * the others sleep until it is done.
 */
#include "work.h"
#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, go_on = 1, done;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	double end = now() + seconds_of(argv);
	const char *mode = word_of(argv, 2);

	while (go_on) {
		compute(mode[0] != 'e' && rank == 0 ? 100 : 25);
		go_on = now() < end;
		MPI_Ibcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
		for (done = 0; mode[0] == 'p' && !done;) {
			MPI_Test(&request, &done, MPI_STATUS_IGNORE);
			if (!done)
				usleep(2000);
		}
		if (mode[0] != 'p')
			MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
