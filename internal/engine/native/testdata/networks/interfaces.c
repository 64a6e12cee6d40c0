// Prints the interfaces as programs find them: by getifaddrs(3), by ioctl(2) and by if_nameindex(3).
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void show(struct sockaddr *a) {
    char text[64] = "?";
    if (a == NULL) return;
    if (a->sa_family == AF_INET) inet_ntop(AF_INET, &((struct sockaddr_in *)a)->sin_addr, text, sizeof text);
    if (a->sa_family == AF_INET6) inet_ntop(AF_INET6, &((struct sockaddr_in6 *)a)->sin6_addr, text, sizeof text);
    if (a->sa_family == AF_PACKET) {
        unsigned char *b = ((struct sockaddr_ll *)a)->sll_addr;
        snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    }
    printf(" %s", text);
}

int main(void) {
    struct ifaddrs *all, *i;
    if (getifaddrs(&all) != 0) return 1;
    for (i = all; i; i = i->ifa_next) {
        printf("%s", i->ifa_name);
        show(i->ifa_addr);
        if (i->ifa_addr->sa_family != AF_PACKET) show(i->ifa_netmask);
        if (i->ifa_addr->sa_family == AF_INET && i->ifa_flags & IFF_BROADCAST) show(i->ifa_broadaddr);
        printf("\n");
    }
    struct if_nameindex *names = if_nameindex();
    for (struct if_nameindex *n = names; n->if_index; n++) printf("%u=%s ", n->if_index, n->if_name);
    printf("\n");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq list[16];
    struct ifconf conf = {.ifc_len = sizeof list, .ifc_req = list};
    if (ioctl(fd, SIOCGIFCONF, &conf) != 0) return 2;
    for (int n = 0; n < conf.ifc_len / (int)sizeof *list; n++) {
        struct ifreq r = list[n];
        printf("%s", r.ifr_name);
        show(&r.ifr_addr);
        if (ioctl(fd, SIOCGIFHWADDR, &r) != 0) return 3;
        printf(" %02x", (unsigned char)r.ifr_hwaddr.sa_data[5]);
        printf(ioctl(fd, SIOCGIFNETMASK, &r) == 0 ? "" : " no mask");
        show(&r.ifr_netmask);
        printf("\n");
    }
    close(fd);
    return 0;
}
