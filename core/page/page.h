/* The page that replays a tape, from the files beside this one; the build turns it into C. "@replay@" in it stands for the replay. */
#ifndef CP_PAGE_H
#define CP_PAGE_H

extern const char cp_page_replay[];

#endif
