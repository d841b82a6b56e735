# Programs of the GPU suite (scripts/gpu-suite).

gpumain  := gpu_facts gpu_ballast
gpu      := $(addprefix $(B)/gpu/,$(gpumain))
gpushare := $(call objects,$(filter-out $(patsubst %,tests/gpu/%.c,$(gpumain)),$(wildcard tests/gpu/*.c)))

$(call objects,$(wildcard tests/gpu/*.c)): INCLUDES := $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(B)/gpu/%: $(B)/obj/tests/gpu/%.o $(gpushare) $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(gpushare) $(appshare) -L$(B)/simdev -lcudnn -lcudart -lm

# The predictions of the cost model, without a GPU.
gpu += $(B)/gpu/predict
$(B)/obj/tests/gpu/predict/predict.o: INCLUDES := $(PURE) -Itests/unit
$(B)/gpu/predict: $(B)/obj/tests/gpu/predict/predict.o $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) $(INIH) -lm

#: gpu          programs that scripts/gpu-suite runs on a GPU
.PHONY: gpu
gpu: lib $(simdev) $(gpu)
