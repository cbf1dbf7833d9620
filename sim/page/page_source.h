/* The script and the style that the lab adds to the viewer of engine/trace/export/html/page.h (page_source.S). */
#ifndef STROBE_SIM_PAGE_PAGE_SOURCE_H
#define STROBE_SIM_PAGE_PAGE_SOURCE_H

extern const char sim_page_css[], sim_page_js[];

#endif
