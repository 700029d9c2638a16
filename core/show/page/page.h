/* The page that replays a tape, from the files beside this one, which the build turns into C. "@replay@" in it stands for the
 * replay. */
#ifndef CP_PAGE_H
#define CP_PAGE_H

extern const char cp_page_replay[];

#endif
