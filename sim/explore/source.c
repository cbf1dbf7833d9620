#include "sim/explore/source.h"

#include "engine/trace/symbols/unit_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct explore_sources {
    Dwfl *dwfl;
    Dwfl_Module *module; /* the module of `units`; all programs are in one module */
    struct strobe_unit_index units;
};

struct explore_sources *explore_sources_open(void)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
    };
    struct explore_sources *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->dwfl = dwfl_begin(&callbacks);
    if (s->dwfl && !dwfl_linux_proc_report(s->dwfl, getpid()) && !dwfl_report_end(s->dwfl, NULL, NULL))
        return s;
    explore_sources_close(s);
    return NULL;
}

void explore_sources_close(struct explore_sources *sources)
{
    if (!sources)
        return;
    strobe_unit_index_free(&sources->units);
    if (sources->dwfl)
        dwfl_end(sources->dwfl);
    free(sources);
}

static Dwarf_Die *source_unit_of(struct explore_sources *s, Dwarf_Addr address)
{
    GElf_Addr bias;
    Dwfl_Module *module = dwfl_addrmodule(s->dwfl, address);
    if (!module)
        return NULL;
    if (module != s->module) {
        strobe_unit_index_free(&s->units);
        s->units = (struct strobe_unit_index){0};
        s->module = module;
        if (!dwfl_module_getdwarf(module, &bias) || strobe_unit_index_build(module, &s->units) != STROBE_OK)
            s->module = NULL;
    }
    return s->module ? strobe_unit_index_find(&s->units, address) : NULL;
}

/* Removes indentation, a comment that ends the line or continues after it, and trailing blanks. */
static void tidy_source_line(char *line)
{
    size_t begin = strspn(line, " \t");
    line[strcspn(line, "\r\n")] = 0;
    memmove(line, line + begin, strlen(line + begin) + 1);
    char *comment = strstr(line, "/*");
    if (comment && comment != line && (!strstr(comment, "*/") || !strstr(comment, "*/")[2]))
        *comment = 0;
    for (size_t n = strlen(line); n && line[n - 1] == ' '; n--)
        line[n - 1] = 0;
}

static void read_line(const char *path, uint32_t wanted, char *out, size_t bytes)
{
    char part[512];
    uint32_t line = 1;
    FILE *in = fopen(path, "r");
    while (in && line < wanted && fgets(part, sizeof part, in))
        line += part[strlen(part) - 1] == '\n';
    if (in && line == wanted && fgets(part, sizeof part, in)) {
        tidy_source_line(part);
        snprintf(out, bytes, "%.*s", (int)bytes - 1, part);
    }
    if (in)
        fclose(in);
}

/* Removes the unit's directory from names of files in it. */
static const char *short_name(Dwarf_Die *unit, const char *name)
{
    Dwarf_Attribute a;
    const char *folder = dwarf_attr(unit, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;
    size_t n = folder ? strlen(folder) : 0;
    if (n && !strncmp(name, folder, n) && name[n] == '/')
        name += n + 1;
    return strncmp(name, "./", 2) ? name : name + 2;
}

void explore_source_find(struct explore_sources *sources, const void *code, struct explore_source *out)
{
    int line = 0;
    *out = (struct explore_source){.line = 0};
    Dwarf_Addr address = (uintptr_t)code;
    Dwarf_Die *unit = sources && code ? source_unit_of(sources, address) : NULL;
    Dwarf_Line *at = unit ? dwarf_getsrc_die(unit, address - sources->units.bias) : NULL;
    const char *name = at ? dwarf_linesrc(at, NULL, NULL) : NULL;
    if (!name || dwarf_lineno(at, &line) || line <= 0)
        return;
    snprintf(out->file, sizeof out->file, "%s", short_name(unit, name));
    out->line = (uint32_t)line;
    read_line(name, out->line, out->text, sizeof out->text);
}
