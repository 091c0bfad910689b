/* An MPI program: every rank speaks with every other, the first one prints. It is compiled by the
 * test with the wrapper of each MPI library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, sum, mine[2], *all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	mine[0] = rank;
	mine[1] = sum;
	all = calloc((size_t)size, sizeof(mine));
	MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++)
		printf("rank %d of %d: sum %d\n", all[2 * i], size, all[2 * i + 1]);
	free(all);
	MPI_Finalize();
	return argc > 1 ? atoi(argv[1]) : 0;
}
