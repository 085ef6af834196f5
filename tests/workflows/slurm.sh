#!/bin/bash
# A real SLURM on one Debian machine, as root, without systemd: two nodes (two slurmd), one fake GPU each, a partition
# for processors and one for GPUs.
#
#   slurm.sh start|stop       needs slurmctld slurmd slurm-client munge
set -eu
place=${SLURM_SANDBOX:-${TMPDIR:-/tmp}/readwarp-slurm}
host=$(hostname -s)
cores=$(nproc)
memory=$(($(awk '/MemTotal/ {print $2}' /proc/meminfo) / 1024 / 2 - 512))

write_configuration() {
  cat >/etc/slurm/slurm.conf <<END
ClusterName=sandbox
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$place/ctld
SlurmdSpoolDir=$place/%n
SlurmctldPidFile=$place/run/slurmctld.pid
SlurmdPidFile=$place/run/%n.pid
SlurmctldLogFile=$place/log/slurmctld.log
SlurmdLogFile=$place/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MinJobAge=300
KillWait=5
OverTimeLimit=0
GresTypes=gpu
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=$cores RealMemory=$memory Gres=gpu:fake:1 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=$cores RealMemory=$memory Gres=gpu:fake:1 State=UNKNOWN
PartitionName=cpu Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=n[1-2] MaxTime=INFINITE State=UP
END
  cat >/etc/slurm/gres.conf <<END
AutoDetect=off
NodeName=n1 Name=gpu Type=fake File=/dev/fakegpu0
NodeName=n2 Name=gpu Type=fake File=/dev/fakegpu1
END
}

start_munge() {
  if [ ! -s /etc/munge/munge.key ]; then
    dd if=/dev/urandom of=/etc/munge/munge.key bs=128 count=1 status=none
    chown munge: /etc/munge/munge.key
    chmod 400 /etc/munge/munge.key
  fi
  install -d -o munge -g munge -m 755 /run/munge
  install -d -o munge -g munge -m 700 /var/lib/munge /var/log/munge
  munge -n >/dev/null 2>&1 || runuser -u munge -- /usr/sbin/munged
}

case "$1" in
start)
  mkdir -p "$place"/{ctld,n1,n2,log,run} /etc/slurm
  for i in 0 1; do [ -c /dev/fakegpu$i ] || mknod /dev/fakegpu$i c 1 3; done
  write_configuration
  start_munge
  slurmctld -c
  sleep 1
  slurmd -N n1
  slurmd -N n2
  for _ in $(seq 60); do
    [ "$(sinfo -h -N -p cpu -o %T 2>/dev/null | grep -c idle)" = 2 ] && break
    sleep 0.5
  done
  sinfo
  ;;
stop)
  for file in "$place"/run/n1.pid "$place"/run/n2.pid "$place"/run/slurmctld.pid /run/munge/munged.pid; do
    if [ -s "$file" ]; then kill "$(cat "$file")" || true; fi
  done
  ;;
*)
  echo "slurm.sh start|stop" >&2
  exit 2
  ;;
esac
