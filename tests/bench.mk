# Benchmarks of host time, with a cuDNN and a driver whose functions only return.

benches := $(addprefix $(B)/bench/,bench decide try_all repeat count level)
idle    := $(addprefix $(B)/bench/,libcudnn.so.9 libcuda.so.1)
null    := $(addprefix $(B)/obj/tests/bench/null_,cudnn.o legacy.o rest.o)

$(null) $(B)/obj/tests/bench/null_cuda.o: INCLUDES := -fPIC -Isrc $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(addprefix $(B)/obj/tests/bench/,bench.o decide.o try_all.o): INCLUDES := -Itests $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(addprefix $(B)/obj/tests/bench/,repeat.o count.o level.o): INCLUDES := $(PURE) -Itests/unit

$(B)/bench/libcudnn.so.9: $(null) src/simdev/cudnn/cudnn.map
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-soname,$(@F) -Wl,--version-script=src/simdev/cudnn/cudnn.map \
	-o $@ $(null)
	$(Q)ln -sf $(@F) $(@D)/libcudnn.so
$(B)/bench/libcuda.so.1: $(B)/obj/tests/bench/null_cuda.o
	$(call say,LD)mkdir -p $(@D); $(CC) $(LDLIB) -Wl,-soname,$(@F) -o $@ $<
$(B)/bench/bench: $(addprefix $(B)/obj/tests/,bench/bench.o support/apps/backend.o support/apps/values.o) $(B)/bench/libcudnn.so.9 $(B)/bench/libcuda.so.1
	$(call say,LD)$(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -L$(@D) -lcudnn -Wl,--no-as-needed -l:libcuda.so.1
$(B)/bench/decide: $(B)/obj/tests/bench/decide.o $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -Wl,--wrap=cudnnBackendFinalize -o $@ $< $(appshare) \
	-L$(B)/simdev -lcudnn -lcudart -lm
$(B)/bench/try_all: $(B)/obj/tests/bench/try_all.o $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(appshare) -L$(B)/simdev -lcudnn -lcudart -lm
$(addprefix $(B)/bench/,repeat count level): $(B)/bench/%: $(B)/obj/tests/bench/%.o $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(pureobj) $(INIH) -lm

#: bench        host time of the library, written to build/bench.json
bench: lib $(simdev) $(benches)
	$(Q)scripts/bench --build $(B)
