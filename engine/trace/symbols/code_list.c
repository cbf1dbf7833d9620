#include "engine/trace/symbols/code_list.h"

#include <stdlib.h>

void strobe_code_list_add_bad(struct strobe_code_list *list, uint64_t place)
{
    if (!list->bad++)
        list->first_bad = place;
}

enum strobe_status strobe_code_list_add(struct strobe_code_list *list, const struct strobe_code *code, uint64_t place)
{
    if (!code->bytes || code->start + code->bytes < code->start || !code->name_bytes) {
        strobe_code_list_add_bad(list, place);
        return STROBE_OK;
    }
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 1024;
        struct strobe_code *grown = realloc(list->at, room * sizeof *grown);
        if (!grown)
            return STROBE_IO;
        list->at = grown;
        list->room = room;
    }
    list->at[list->count++] = *code;
    return STROBE_OK;
}

void strobe_code_list_free(struct strobe_code_list *list)
{
    free(list->at);
    *list = (struct strobe_code_list){0};
}
