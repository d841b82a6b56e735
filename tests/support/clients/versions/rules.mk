# Clients of other versions, parts and names of cuDNN. The Makefile includes this file after the rules of all clients.
versions := tests/support/clients/versions
verbin   := $(B)/clients/versions

clients += $(addprefix $(verbin)/,libcudnn.so.8 libwork_old.so parts/libcudnn_graph.so.9 libwork_parts.so graph/libcudnn_graph.so.9 \
           libtouch_graph.so renamed/libcudnn-1a2b3c.so.9 libwork_renamed.so)

$(verbin)/libcudnn.so.8: $(addprefix $(versions)/,old_cudnn.c old.map) $(B)/flags
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,-Bsymbolic -Wl,-soname,$(@F) \
	-Wl,--version-script=$(versions)/old.map -o $@ $<
# The simulated cuDNN as one file of parts, as one part alone, and under the name that a packager gave it.
$(verbin)/parts/libcudnn_graph.so.9: VERMAP := $(versions)/parts.map
$(verbin)/graph/libcudnn_graph.so.9: VERMAP := $(versions)/graph.map
$(verbin)/renamed/libcudnn-1a2b3c.so.9: VERMAP := src/simdev/cudnn/cudnn.map
$(addprefix $(verbin)/,parts/libcudnn_graph.so.9 graph/libcudnn_graph.so.9 renamed/libcudnn-1a2b3c.so.9): \
        $(call objects,$(simcudnn)) $(wildcard $(versions)/*.map) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) $(LDLIB) -fPIC -Wl,-Bsymbolic -Wl,-soname,$(@F) -Wl,--version-script=$(VERMAP) \
	-o $@ $(filter %.o,$^) $(SIMDEPS)

$(verbin)/libwork_old.so: $(versions)/touch.c $(verbin)/libcudnn.so.8 $(clientdep)
$(verbin)/libtouch_graph.so: $(versions)/touch.c $(verbin)/graph/libcudnn_graph.so.9 $(clientdep)
$(addprefix $(verbin)/,libwork_old.so libtouch_graph.so):
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,-rpath,'$$ORIGIN:$$ORIGIN/graph' -o $@ $(filter %.c %.so.8 %.so.9,$^)
$(verbin)/libwork_parts.so: $(verbin)/parts/libcudnn_graph.so.9
$(verbin)/libwork_renamed.so: $(verbin)/renamed/libcudnn-1a2b3c.so.9
$(addprefix $(verbin)/,libwork_parts.so libwork_renamed.so): tests/support/clients/work.c $(clientbase) $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,-rpath,'$$ORIGIN/parts:$$ORIGIN/renamed' -o $@ \
	$(filter %.c %.so.9,$^) -L$(B)/simdev -lcudart -lm
