id
pwd
hostname
env | sort
ulimit -n
ulimit -Hn
ulimit -c
cat /proc/sys/net/core/somaxconn
cat /common/file
ls -ln /given/text /single /etc/setting /run/secrets/password
cat /single /etc/setting /run/secrets/password; echo
for path in /scratch /kept /kept2 /common /tmp /var/tmp /dev/shm /work/made; do
	ls -lnd $path | while read -r mode links uid gid rest; do echo $path ${mode%+} $uid $gid; done
done
ls /kept2
echo written >/kept/mine && cat /kept/mine /kept/file
echo x >/kept2/x || echo /kept2 is not mine
echo y >/single || echo /single is not mine
echo z >/given/z || echo /given is sealed
echo z >/etc/z || echo / is sealed
head -c 100000 /dev/zero >/scratch/z || echo /scratch is full
wc -c /scratch/z
head -c 2000000 /dev/zero >/dev/shm/z || echo /dev/shm is full
for name in peer buddy several elsewhere rich rich-host wealthy; do
	getent ahostsv4 $name | grep STREAM | while read -r address rest; do echo $name $address; done | sort -u
done
getent hosts nowhere || echo nowhere is unknown
ls /run/below
cat /shared/*
echo the script ends
