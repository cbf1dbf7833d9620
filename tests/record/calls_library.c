/* A library of instrumented functions, see calls.c. */
extern unsigned long inner_in_library_calls;
unsigned long inner_in_library_calls;

void in_library(int n);

static void inner_in_library(void)
{
    inner_in_library_calls++;
}

void in_library(int n)
{
    while (n--)
        inner_in_library();
}
