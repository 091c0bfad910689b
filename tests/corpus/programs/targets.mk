# make -f targets.mk: ten targets that do not need each other, one after the other without -j
all: 1 2 3 4 5 6 7 8 9 10
.PHONY: all 1 2 3 4 5 6 7 8 9 10
1 2 3 4 5 6 7 8 9 10:
	@awk 'BEGIN { for (i = 0; i < 8000000; i++) x = x * 0.5 + i }'
