package main

// #include <stdlib.h>
// static int ten(void) { return 10; }
import "C"

func init() {
	fromC = func() int { return int(C.ten()) }
}
