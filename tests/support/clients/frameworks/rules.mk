# One program per framework, in the order of calls that the framework issues. Those that load cuDNN and look its
# functions up do so here too.
framework_linked    := stored_random two_models pytorch_v8 pytorch_v7 opencv dlib ctranslate2 cupy13
framework_looked_up := xla tensorflow onnxruntime paddle julia_legacy
framework_share     := session legacy graph
framework_obj       := $(B)/obj/tests/support/clients/frameworks
frameworks          := $(addprefix $(B)/clients/frameworks/,$(framework_linked) $(framework_looked_up))

$(framework_obj)/%.o: INCLUDES := $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(framework_obj)/looked_up/%.o: INCLUDES := $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC)) \
                                            -include tests/support/clients/frameworks/looked_up.h

$(framework_obj)/looked_up/%.o: tests/support/clients/frameworks/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<
$(addprefix $(framework_obj)/looked_up/,client.o backend.o): $(framework_obj)/looked_up/%.o: tests/support/apps/%.c $(B)/flags
	$(call say,CC)mkdir -p $(@D); $(CC) $(CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<

$(addprefix $(B)/clients/frameworks/,$(framework_linked)): $(B)/clients/frameworks/%: $(framework_obj)/%.o \
    $(patsubst %,$(framework_obj)/%.o,$(framework_share)) $(addprefix $(B)/obj/tests/support/apps/,client.o values.o backend.o) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -L$(B)/simdev -lcudnn -lcudart -lm -ldl
$(addprefix $(B)/clients/frameworks/,$(framework_looked_up)): $(B)/clients/frameworks/%: $(framework_obj)/looked_up/%.o \
    $(patsubst %,$(framework_obj)/looked_up/%.o,$(framework_share) client backend look_up) $(B)/obj/tests/support/apps/values.o $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $(filter %.o,$^) -L$(B)/simdev -lcudart -lm -ldl

