// Four threads that work; one of them, the main thread or another, says when all do.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int working;
static const char *teller;

static void *work(void *name) {
  __atomic_add_fetch(&working, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 1000; i++) {
    usleep(1000);
    if (i == 100 && working == 4 && !strcmp(name, teller)) write(1, "ready\n", 6);
  }
  return 0;
}

int main(int argc, char **argv) {
  pthread_t t[3];
  teller = argv[1];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, i == 1 ? "other" : "");
  work("main");
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
