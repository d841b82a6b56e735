# The GPU suite (scripts/gpu-suite): the command and the library for a machine without their dependencies, and the predictions for
# scripts/fit-cost.

gpu := $(addprefix $(B)/gpu/,convshim libconvshim.so predict)
$(B)/gpu/convshim $(B)/gpu/libconvshim.so: $(B)/gpu/%: $(B)/portable/%
	$(call say,CP)mkdir -p $(@D); cp $< $@
$(B)/obj/tests/gpu/predict/predict.o: INCLUDES := $(PURE) -Itests/unit
$(B)/gpu/predict: $(B)/obj/tests/gpu/predict/predict.o $(pureobj)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) $(INIH) -lm

#: gpu          files that scripts/gpu-suite needs on a machine with a GPU, in build/gpu
.PHONY: gpu
gpu: $(gpu)
