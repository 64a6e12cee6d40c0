// Leak: the order in which a folder lists its files, and their cookies.
#include "leak.h"
#include <dirent.h>

int main(void) {
	char name[40];
	mkdir("many", 0755);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "many/file-%d", i * 7919 % 1000);
		close(open(name, O_CREAT | O_WRONLY, 0644));
	}
	DIR *d = opendir("many");
	for (struct dirent *e; (e = readdir(d));) show("%s %lx\n", e->d_name, (long)e->d_off);
	closedir(d);
	return 0;
}
