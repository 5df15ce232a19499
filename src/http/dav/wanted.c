/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/wanted.h"

#include "base/mem.h"

void ash__dav_wanted_add(ash_dav_wanted_list *list, const ash_xml_node *prop)
{
    size_t n = 0;
    for (const ash_xml_node *p = prop->first; p != NULL; p = p->next)
        n++;
    list->items = ash__realloc_array(list->items, list->count + n + 1, sizeof *list->items);
    for (const ash_xml_node *p = prop->first; p != NULL && list->count < ASH_DAV_MAX_WANTED;
         p = p->next)
        list->items[list->count++] =
            (ash_dav_wanted){.space = ash__strdup(p->space),
                             .name = ash__strdup(p->name),
                             .live = ash__dav_live_find(p->space, p->name)};
}

void ash__dav_wanted_release(ash_dav_wanted_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ash__free(list->items[i].space);
        ash__free(list->items[i].name);
    }
    ash__free(list->items);
    *list = (ash_dav_wanted_list){0};
}
