/* A player: a program that plays one scenario and is captured meanwhile. strobe-lab starts it (real.h,
 * virtual/virtual.h); it is nothing for people. The linker says which one this is: sim_player stands for one of
 * sim_real_child, sim_real_mach_child, sim_virtual_child and sim_virtual_mach_child. */
int sim_player(int argc, char **argv);

int main(int argc, char **argv)
{
    return sim_player(argc, argv);
}
