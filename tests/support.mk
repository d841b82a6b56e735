# Programs and libraries that suites run, on the simulated device.

$(call objects,$(wildcard tests/support/apps/*.c)): INCLUDES := $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
$(B)/apps/compare: $(addprefix $(B)/obj/tests/support/apps/,compare.o values.o)
	$(call say,LD)mkdir -p $(@D); $(CC) $(SANFLAGS) -o $@ $^ -lm
$(B)/apps/%: $(B)/obj/tests/support/apps/%.o $(appshare) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CC) -pthread $(SANFLAGS) -o $@ $< $(appshare) -L$(B)/simdev -lcudnn -lcudart -lm

# Programs and libraries that the bats suites load in unusual ways.
clients    := $(addprefix $(B)/clients/,libwork.so libinterposer.so libcudnn_tracer.so libflip.so libunloading.so load_race libload_race_plugin.so reset reset_linked small_stack cancelled bad_arguments told queried hostile ranges idle plans walk refused reshape partial/libcudnn.so.9 \
              libwork_looked_up.so libloader_deep.so libloader_local.so \
              libloader_early.so libloader_other.so loader \
              libwork_lazy.so libwork_noplt.so libwork_static.so libwork_stubs.so libwork_stubs_bound.so \
              bypass bypass_static)
include tests/support/clients/frameworks/rules.mk
clientbase := $(addprefix tests/support/clients/,layer.c layer_memory.c) $(addprefix tests/support/apps/,client.c backend.c conv.c conv_graph.c conv_legacy.c values.c problem_data.c)
clientdep  := $(wildcard tests/support/clients/*.[dhm]* tests/support/apps/*.h) $(B)/flags
CLIENT      = $(CC) $(CFLAGS) $(addprefix -isystem ,$(CUDNN_INC) $(CUDA_INC))
CLIENTLIBS := -L$(B)/simdev -lcudnn -lcudart -lm -ldl
SIMLIB      = $(CLIENT) $(LDLIB) -fPIC -Wl,-Bsymbolic -Wl,-soname,libcudnn.so.9
SIMDEPS    := -L$(B)/simdev -lcudart -ldnnl -lcjson -lgomp -lm -ldl
include tests/support/clients/torch/rules.mk
include tests/support/clients/versions/rules.mk

# Bound lazily, which is the compiler's default, and at load.
$(B)/clients/libwork_lazy.so: BIND := -Wl,-z,lazy
$(B)/clients/libwork_noplt.so: BIND := -fno-plt
$(addprefix $(B)/clients/,libwork.so libwork_lazy.so libwork_noplt.so): tests/support/clients/work.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared $(BIND) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
# Linked with a static cuDNN whose functions are exported.
$(B)/clients/libwork_static.so: tests/support/clients/work.c $(clientbase) $(call objects,$(simcudnn)) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,-Bsymbolic -o $@ $(filter %.c %.o,$^) $(SIMDEPS)
# Their cuDNN is loaded through stubs, which other libraries may override or not.
$(B)/clients/libwork_stubs_bound.so: BIND := -Wl,-Bsymbolic
$(addprefix $(B)/clients/libwork_stubs,.so _bound.so): $(addprefix tests/support/clients/,work.c stubs.c) $(clientbase) \
              $(B)/obj/tests/support/clients/loader_cudnn.o $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared $(BIND) -o $@ $(filter %.c %.o,$^) $(CLIENTLIBS)
$(B)/clients/bypass_static: tests/support/clients/bypass.c $(call objects,$(simcudnn)) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -rdynamic -o $@ $(filter %.c %.o,$^) $(SIMDEPS)
$(B)/clients/bypass: tests/support/clients/bypass.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $< -ldl
$(B)/clients/plans: tests/support/clients/plans.c tests/support/clients/plans_graph.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
$(B)/clients/walk: $(wildcard tests/support/clients/walk*.c) $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter-out %/layer.c %/layer_memory.c,$(filter %.c,$^)) tests/support/apps/problems.c $(CLIENTLIBS)
$(B)/clients/told: BIND := -Wl,--wrap=cudnnBackendGetAttribute
$(addprefix $(B)/clients/,reset small_stack bad_arguments told queried): $(B)/clients/%: tests/support/clients/%.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) $(BIND) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
# Linked with the library: a user cannot preload libraries into a privileged program, so it finds the library by its
# path.
$(B)/clients/reset_linked: tests/support/clients/reset.c $(clientbase) $(clientdep) $(B)/libconvshim.so $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) -L$(B) -Wl,--no-as-needed -lconvshim -Wl,--disable-new-dtags \
	-Wl,-rpath,$(CURDIR)/$(B):$(CURDIR)/$(B)/simdev $(CLIENTLIBS)
$(B)/clients/load_race: tests/support/clients/load_race.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -rdynamic -o $@ $< $(CLIENTLIBS)
$(B)/clients/libload_race_plugin.so: tests/support/clients/load_race_plugin.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -o $@ $< $(CLIENTLIBS)
$(B)/clients/reshape: tests/support/clients/reshape.c $(clientbase) $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $(filter %.c,$^) $(CLIENTLIBS)
$(B)/clients/idle: tests/support/clients/idle.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -Wl,--no-as-needed -o $@ $< $(CLIENTLIBS)
$(addprefix $(B)/clients/,cancelled refused): $(B)/clients/%: tests/support/clients/%.c $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -Wl,--no-as-needed -o $@ $< $(CLIENTLIBS)
$(addprefix $(B)/clients/,hostile ranges): $(B)/clients/%: tests/support/clients/%.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $< -ldl
$(addprefix $(B)/clients/lib,interposer.so cudnn_tracer.so flip.so unloading.so): $(B)/clients/lib%.so: tests/support/clients/%.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -o $@ $< -ldl
# libwork.so with a cuDNN that is loaded and looked up at run time instead of linked.
$(B)/obj/tests/support/clients/loader_cudnn.o: INCLUDES := $(SIMFLAGS)
$(B)/clients/libwork_looked_up.so: tests/support/clients/work.c $(clientbase) $(B)/obj/tests/support/clients/loader_cudnn.o $(clientdep) $(simdev)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -include tests/support/clients/loader_calls.h -fPIC -shared -o $@ $(filter %.c %.o,$^) \
	-L$(B)/simdev -lcudart -lm -ldl
# Calls without a stub can happen before the loader has finished.
$(addprefix $(B)/clients/libloader_,deep.so early.so other.so): $(B)/clients/libloader_%.so: tests/support/clients/loader_%.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -fno-plt -shared -Wl,-soname,$(@F) -o $@ $<
$(B)/clients/libloader_local.so: tests/support/clients/loader_local.c $(B)/clients/libloader_deep.so $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -fPIC -shared -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN' -o $@ $< -L$(@D) -lloader_deep
$(B)/clients/loader: tests/support/clients/loader.c $(clientdep)
	$(call say,LD)mkdir -p $(@D); $(CLIENT) -o $@ $< -ldl
$(B)/clients/partial/libcudnn.so.9: $(call objects,$(simcudnn)) tests/support/clients/partial.map $(simdev)
	$(call say,LD)mkdir -p $(@D); $(SIMLIB) -Wl,--version-script=tests/support/clients/partial.map -o $@ $(filter %.o,$^) $(SIMDEPS)
