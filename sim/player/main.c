/* A player: a program that plays one scenario while a policy captures it. strobe-lab starts players (real.h,
 * virtual/virtual.h). The linker selects the player: it defines sim_player as sim_real_child, sim_real_mach_child,
 * sim_virtual_child or sim_virtual_mach_child (Makefile). */
int sim_player(int argc, char **argv);

int main(int argc, char **argv)
{
    return sim_player(argc, argv);
}
