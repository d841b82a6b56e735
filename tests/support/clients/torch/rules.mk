# The imitation of PyTorch's allocator, and the program that uses it.

clients += $(B)/clients/level
TORCH   := $(B)/clients/torch
torchdep := $(wildcard tests/support/clients/torch/*.h tests/unit/naive_allocator.h) $(B)/flags
$(TORCH)/libc10.so: tests/support/clients/torch/c10.c $(torchdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(TORCH)/libtorch_cuda.so: tests/support/clients/torch/torch_cuda.c $(TORCH)/libc10.so $(torchdep) $(simdev)
	$(call say,LD)$(CLIENT) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -L$(@D) -lc10 -L$(B)/simdev -lcudart
$(B)/clients/level: tests/support/clients/level.c $(clientbase) $(clientdep) $(TORCH)/libtorch_cuda.so $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) -L$(TORCH) -ltorch_cuda -lc10 -Wl,-rpath,$(CURDIR)/$(TORCH) $(CLIENTLIBS)
