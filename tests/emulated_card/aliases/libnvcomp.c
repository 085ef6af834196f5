/* A library without code, by whose name nvCOMP is found. It needs libcuda, which has the functions: see nvcomp.c. */
typedef int nothing;
