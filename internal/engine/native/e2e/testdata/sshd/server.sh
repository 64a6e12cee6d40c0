#!/bin/sh
# Users, their keys, and what sshd asks of its folders. The machine's /root is not for everyone who runs this world.
set -eu
umask 022
mkdir -p /run/sshd /home/root /home/alice /home/bob /srv/jail/files
printf 'root:x:0:0::/home/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\nalice:x:1200:1200::/home/alice:/bin/sh\nbob:x:1201:1201::/home/bob:/bin/sh\n' >/etc/passwd
printf 'root:x:0:\nalice:x:1200:\nbob:x:1201:\nnogroup:x:65534:\n' >/etc/group
printf 'root:*:19000::::::\nsshd:*:19000::::::\nalice:*:19000::::::\nbob:*:19000::::::\n' >/tmp/shadow
chmod 640 /tmp/shadow
mv /tmp/shadow /etc/shadow
for user in root alice bob; do
	home=$(sed -n "s/^$user:.*:\(.*\):.*/\1/p" /etc/passwd)
	mkdir -p $home/.ssh
	cp .bloodhound/bin/user.pub $home/.ssh/authorized_keys
	chmod 700 $home/.ssh $home
	chown $user $home $home/.ssh $home/.ssh/authorized_keys
done
chown root / /srv /srv/jail
chown bob /srv/jail/files
cp .bloodhound/bin/host /run/host_key
chmod 600 /run/host_key
exec /usr/sbin/sshd -D -e -f sshd_config -h /run/host_key
