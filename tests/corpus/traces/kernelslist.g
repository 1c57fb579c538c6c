MemcpyHtoD,0x00007f8000000000,65536
kernel-1.traceg
kernel-2.traceg.xz

MemcpyDtoH,0x00007f8000000000,4096
kernel-3.traceg.zst
