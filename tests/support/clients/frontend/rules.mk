# cudnn-frontend's C++ clients. The Makefile includes this between the definition of `clients` and its use.

ifeq ($(origin CXX),default)
CXX := g++
endif
fesrc := tests/support/clients/frontend
febin := $(B)/clients/frontend

# Sanitizers leave these clients out, as they leave Python out: the subject of the tests is the library.
FECXX  = $(CXX) -std=c++17 -fPIC -pthread $(filter-out -Wstrict-prototypes -Wmissing-prototypes,$(WARN)) \
         -DCUDNN_FRONTEND_SKIP_JSON_LIB $(addprefix -isystem ,$(FRONTEND)/include $(CUDNN_INC) $(CUDA_INC))
# The simulated device takes atexit from the runtime of ThreadSanitizer, if it has one.
felibs = -L$(B)/simdev -lcudart -ldl $(if $(findstring thread,$(SAN)),-ltsan)

feclients := $(addprefix $(febin)/client_,linked loaded)
# cuda_fp16.h includes a header of another package of CUDA's.
ifneq ($(and $(FRONTEND),$(wildcard $(CUDA_INC)/nv/target),$(shell command -v $(CXX) 2>/dev/null)),)
clients += $(feclients)
endif

# The headers keep the compiler busy for 15 s each time: both at once also without -j, and nothing is optimised.
$(febin)/linked.o $(febin)/loaded.o &: $(addprefix $(fesrc)/,frontend.cpp rules.mk) $(wildcard $(fesrc)/*.hpp) \
                                       $(FRONTEND)/requirements.txt
	$(call say,C++)mkdir -p $(@D); \
	$(FECXX) -DNV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING -c -o $(@D)/loaded.o $< & \
	$(FECXX) -c -o $(@D)/linked.o $< && wait $$!
$(addprefix $(febin)/,client.o problem.o): $(febin)/%.o: $(fesrc)/%.cpp $(fesrc)/rules.mk $(wildcard $(fesrc)/*.hpp)
	$(call say,C++)mkdir -p $(@D); $(FECXX) -O2 -c -o $@ $<

# Linked, the headers refer to more of CUDA than the simulated device has. A function that is never called need not
# exist.
$(febin)/libfrontend_linked.so: felibs += -lcudnn
$(addprefix $(febin)/libfrontend_,linked.so loaded.so): $(febin)/libfrontend_%.so: $(febin)/%.o $(simdev)
	$(call say,LD)$(CXX) -shared -pthread -Wl,-z,lazy -o $@ $< $(felibs)
$(feclients): $(febin)/client_%: $(febin)/client.o $(febin)/problem.o $(febin)/libfrontend_%.so
	$(call say,LD)$(CXX) -pthread -Wl,--allow-shlib-undefined -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o,$^) \
	-L$(@D) -lfrontend_$* $(felibs)
