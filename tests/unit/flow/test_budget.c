/* Policy budget: what a site offers, how the first run of a program gives shares away, and how
 * later runs divide the total. */
#include "base/log.h"
#include "check.h"
#include "config/program.h"
#include "fake_vendor.h"
#include "flow/budget.h"
#include "flow/flow.h"
#include <pthread.h>
#include <unistd.h>

enum {
    RANDOM = 300,
    ROUNDS = 40,
    SITES = 6,
    PROGRAM = 4711,
    SEED = 20269
};

static char path[300], log_path[320];
static struct fake fake;
static const struct cs_limits limits = {.workspace = INT64_C(1) << 40};

static int64_t model_number; /* of the device */

static int64_t fake_model(void *ctx)
{
    (void)ctx;
    return model_number;
}

static struct cs_vendor vendor_of(struct fake *of)
{
    return (struct cs_vendor){.ctx = of,
                              .compiles = of->compiles,
                              .build = fake_build,
                              .fallback = fake_fallback,
                              .destroy = fake_destroy,
                              .model = fake_model};
}

static const struct cs_policy *policy(void)
{
    return cs_policy_find("budget");
}

static struct cs_decision decide_under(const struct cs_request *request, int64_t limit)
{
    struct cs_limits under = limits;
    const struct cs_vendor vendor = vendor_of(&fake);
    under.workspace = limit;
    return cs_decide(&request->problem, request->required, policy(), &under, &vendor);
}

static int offers_of(const struct cs_request *request, struct cs_offer offer[CS_MAX_OFFERS])
{
    const struct cs_vendor vendor = vendor_of(&fake);
    return cs_offers(&request->problem, request->required, policy(), &limits, &vendor, offer);
}

static struct cs_request random_request(struct rng *rng)
{
    struct cs_request request = {.problem = random_same(rng), .engine = {.index = 3}};
    request.required = formula(&fake, &request.problem);
    return request;
}

/* Each is what a decision under its limit says; the untiled call is the last. */
static void offers_are_true(void)
{
    struct rng rng = {SEED};
    int64_t most_asked = 0;
    int several = 0;
    for (int turn = 0; turn < RANDOM; turn++) {
        struct cs_offer offer[CS_MAX_OFFERS];
        fake = (struct fake){.fixed = 4096,
                             .per_byte = 1,
                             .compiles = turn % 16 == 0,
                             .erratic = turn % 8 == 1,
                             .curved = turn % 8 == 2};
        struct cs_request request = random_request(&rng);
        if (turn % 8 == 3) {
            fake.stubborn = request.required;
            fake.helps = CS_DEFAULT_KNOBS;
        }
        int count = offers_of(&request, offer);
        int64_t asked = fake.calls;
        CHECK_INT(fake.live, 0);
        CHECK(count >= 1 && count <= CS_MAX_OFFERS);
        CHECK(asked <= CS_OFFER_ASKS + CS_MAX_ASKS);
        CHECK_INT(offer[count - 1].bytes, request.required);
        CHECK_INT(offer[count - 1].cost, 0);
        for (int i = 0; i < count; i++) {
            struct cs_decision decision = decide_under(&request, offer[i].limit);
            CHECK_INT(decision.reason, i < count - 1 ? CS_REASON_NONE : CS_REASON_SMALL);
            CHECK_INT(decision.reported, offer[i].bytes);
            CHECK(offer[i].bytes <= offer[i].limit);
            CHECK(i == 0 ||
                  (offer[i - 1].bytes < offer[i].bytes && offer[i - 1].cost > offer[i].cost));
        }
        most_asked = asked > most_asked ? asked : most_asked;
        several += count > 3;
    }
    CHECK(several > RANDOM / 3);
    printf("# asks for the offers of a site: %lld at most\n", (long long)most_asked);
}

/* What cannot be cut and is beyond the limit is left alone, whatever it requires: that is its
 * offer.
 */
static void an_offer_of_what_cannot_be_cut(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_vendor vendor = vendor_of(&fake);
    fake = (struct fake){.fixed = 1 << 20, .per_byte = 1};
    struct cs_request request = {.problem = same(1, 8, 1, 8, 8, 8)};
    struct cs_limits little = {.workspace = 1 << 19};
    request.required = formula(&fake, &request.problem);
    CHECK_INT(cs_offers(&request.problem, request.required, policy(), &little, &vendor, offer), 1);
    CHECK_INT(offer[0].bytes, request.required);
}

/* A threshold that the user names leaves a call alone whatever its share: it has nothing else to
 * offer. One byte below, it has more. */
static void an_offer_of_what_the_threshold_leaves_alone(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_vendor vendor = vendor_of(&fake);
    fake = (struct fake){.fixed = 4096, .per_byte = 1};
    struct cs_request request = {.problem = same(1, 8, 1, 200, 200, 8)};
    request.required = formula(&fake, &request.problem);
    struct cs_limits named = {.workspace = request.required / 4, .threshold = request.required};
    CHECK_INT(cs_offers(&request.problem, request.required, policy(), &named, &vendor, offer), 1);
    CHECK_INT(offer[0].bytes, request.required);
    CHECK_INT(offer[0].cost, 0);
    named.threshold--;
    CHECK(cs_offers(&request.problem, request.required, policy(), &named, &vendor, offer) > 1);
}

/* --- shares --------------------------------------------------------------------------------- */

static struct cs_request request_of[SITES];
static struct cs_offer offer_of[SITES][CS_MAX_OFFERS];
static int offers[SITES];

static void make_sites(struct rng *rng)
{
    fake = (struct fake){.fixed = 4096, .per_byte = 1};
    for (int i = 0; i < SITES; i++) {
        request_of[i] = (struct cs_request){
            .problem = same(rng_between(rng, 1, 4), 8, 1, rng_between(rng, 20, 300),
                            rng_between(rng, 20, 200), rng_between(rng, 1, 4) * 8),
            .engine = {.index = i}};
        request_of[i].required = formula(&fake, &request_of[i].problem);
        offers[i] = offers_of(&request_of[i], offer_of[i]);
    }
}

static int64_t sum_of(bool least)
{
    int64_t sum = 0;
    for (int i = 0; i < SITES; i++)
        sum += least ? offer_of[i][0].bytes : request_of[i].required;
    return sum;
}

/* A process: budget and store anew. */
struct process {
    struct cs_store store;
    struct cs_budget budget;
};

static void start(struct process *process, int64_t total, uint64_t program)
{
    cs_store_init(&process->store, path);
    cs_budget_init(&process->budget, total, program);
}

static void end(struct process *process)
{
    cs_store_fini(&process->store);
}

static int64_t limit_of(struct process *process, const struct cs_request *request)
{
    const struct cs_vendor vendor = vendor_of(&fake);
    fake.calls = 0;
    int64_t limit =
        cs_budget_limit(&process->budget, &process->store, request, policy(), &limits, &vendor);
    CHECK_INT(fake.live, 0);
    return limit;
}

static const struct cs_offer *offer_under(int site, int64_t limit)
{
    for (int i = 0; i < offers[site]; i++)
        if (offer_of[site][i].limit == limit)
            return &offer_of[site][i];
    CHECK(!"a limit that no offer has");
    return &offer_of[site][0];
}

/* Asks for all sites, from `first` on, and for each again. */
static void run_program(struct process *process, int first, int64_t *bytes_p, int64_t *cost_p)
{
    int64_t limit[SITES];
    *bytes_p = *cost_p = 0;
    for (int i = 0; i < SITES; i++) {
        int site = (first + i) % SITES;
        limit[site] = limit_of(process, &request_of[site]);
        const struct cs_offer *offer = offer_under(site, limit[site]);
        *bytes_p += offer->bytes;
        *cost_p += offer->cost;
    }
    for (int i = 0; i < SITES; i++) {
        CHECK_INT(limit_of(process, &request_of[i]), limit[i]);
        CHECK_INT(fake.calls, 0);
    }
}

static int64_t cheapest(int site, int64_t rest)
{
    int64_t best = INT64_MAX;
    if (site == SITES)
        return 0;
    for (int i = 0; i < offers[site]; i++) {
        int64_t bytes = offer_of[site][i].bytes;
        int64_t others = bytes <= rest ? cheapest(site + 1, rest - bytes) : INT64_MAX;
        if (others < INT64_MAX && others + offer_of[site][i].cost < best)
            best = others + offer_of[site][i].cost;
    }
    return best;
}

/* The first run keeps to the total, the second is as good as can be, whatever comes first. */
static void runs(void)
{
    struct rng rng = {SEED};
    struct process process;
    int better = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t bytes, cost, first_cost, least, total;
        make_sites(&rng);
        unlink(path);
        least = sum_of(true);
        total = least + (sum_of(false) - least) / 100 * rng_between(&rng, 0, 110);
        start(&process, total, PROGRAM);
        run_program(&process, round % SITES, &bytes, &first_cost);
        end(&process);
        /* The first ones may have taken what the others could not do without. */
        CHECK(bytes <= total || bytes <= least + total / 2);
        for (int again = 0; again < 3; again++) {
            start(&process, total, PROGRAM);
            run_program(&process, again, &bytes, &cost);
            CHECK(bytes <= total);
            CHECK_INT(cost, cheapest(0, total));
            end(&process);
        }
        better += cost < first_cost;
    }
    CHECK(better > ROUNDS / 4);
}

static int log_lines(const char *what)
{
    char line[1200];
    int lines = 0;
    FILE *file = fopen(log_path, "r");
    while (file && fgets(line, sizeof line, file))
        lines += strstr(line, what) != NULL;
    if (file)
        fclose(file);
    return lines;
}

/* Less than even the least of all: everybody gets the least, and one line says so. */
static void too_small(void)
{
    struct rng rng = {SEED};
    struct process process;
    int64_t bytes, cost;
    make_sites(&rng);
    unlink(path);
    for (int run = 0; run < 2; run++) {
        unlink(log_path);
        start(&process, sum_of(true) - 1, PROGRAM);
        run_program(&process, 0, &bytes, &cost);
        CHECK(run == 0 || bytes == sum_of(true));
        CHECK_INT(log_lines(run == 0 ? "was given to those before" : "need at the least"), 1);
        end(&process);
    }
}

/* However many sites find nothing left. */
static void nothing_left_is_said_once(void)
{
    struct rng rng = {SEED};
    struct process process;
    int64_t bytes, cost;
    make_sites(&rng);
    unlink(path);
    unlink(log_path);
    start(&process, 1, PROGRAM);
    run_program(&process, 0, &bytes, &cost);
    CHECK_INT(log_lines("was given to those before"), 1);
    end(&process);
}

/* What is left may be just enough. */
static void what_is_just_enough_is_not_said(void)
{
    struct rng rng = {SEED};
    make_sites(&rng);
    for (int less = 0; less < 2; less++) {
        struct process process;
        unlink(path);
        unlink(log_path);
        start(&process, offer_of[0][0].bytes - less, PROGRAM);
        CHECK_INT(limit_of(&process, &request_of[0]), offer_of[0][0].limit);
        CHECK_INT(log_lines("was given to those before"), less);
        end(&process);
    }
}

/* A site that no earlier run has met gets of what is left, and the others keep theirs. */
static void a_new_site(void)
{
    struct rng rng = {SEED};
    struct process process;
    make_sites(&rng);
    unlink(path);
    int64_t total = sum_of(false) * 2, known = 0;
    start(&process, total, PROGRAM);
    for (int i = 0; i < SITES - 1; i++)
        limit_of(&process, &request_of[i]);
    end(&process);
    start(&process, total, PROGRAM);
    const struct cs_offer *mine =
        offer_under(SITES - 1, limit_of(&process, &request_of[SITES - 1]));
    CHECK(fake.calls > 0);
    for (int i = 0; i < SITES - 1; i++) {
        known += offer_under(i, limit_of(&process, &request_of[i]))->bytes;
        CHECK_INT(fake.calls, 0);
    }
    CHECK_INT(known, sum_of(false) - request_of[SITES - 1].required);
    CHECK(mine->bytes <= (total - known) / 4 || mine == &offer_of[SITES - 1][0]);
    CHECK_INT(process.budget.left, total - known - mine->bytes);
    end(&process);
}

/* Beyond the sites that are remembered each gets the least, as often as it asks. */
static void a_site_too_many(void)
{
    struct process process;
    unlink(path);
    fake = (struct fake){.fixed = 4096, .per_byte = 1};
    struct cs_request small = {.problem = same(1, 8, 1, 8, 8, 8)};
    struct cs_request late = {.problem = same(1, 8, 1, 200, 200, 8)};
    small.required = formula(&fake, &small.problem);
    late.required = formula(&fake, &late.problem);
    start(&process, CS_MAX_SHARES * small.required + 4 * late.required, PROGRAM);
    for (int i = 0; i < CS_MAX_SHARES; i++) {
        small.engine.index = i;
        limit_of(&process, &small);
    }
    CHECK_INT(process.budget.shares, CS_MAX_SHARES);
    struct cs_offer offer[CS_MAX_OFFERS];
    CHECK(offers_of(&late, offer) > 1);
    for (int i = 0; i < 3; i++)
        CHECK_INT(limit_of(&process, &late), offer[0].limit);
    end(&process);
}

static bool knows(int64_t total, uint64_t program, const struct cs_limits *under,
                  const struct cs_request *request)
{
    struct process process;
    const struct cs_vendor vendor = vendor_of(&fake);
    start(&process, total, program);
    fake.calls = 0;
    cs_budget_limit(&process.budget, &process.store, request, policy(), under, &vendor);
    end(&process);
    return fake.calls == 0;
}

/* Other programs, options and problems are others; another total is not: it is divided anew. */
static void what_is_the_same(void)
{
    struct rng rng = {SEED};
    struct cs_limits other = limits;
    make_sites(&rng);
    unlink(path);
    struct cs_request request = request_of[0];
    int64_t total = sum_of(false);
    CHECK(!knows(total, PROGRAM, &limits, &request));
    CHECK(knows(total, PROGRAM, &limits, &request));
    CHECK(knows(total / 2, PROGRAM, &limits, &request));
    CHECK(!knows(total, PROGRAM + 1, &limits, &request));
    model_number = 5;
    CHECK(!knows(total, PROGRAM, &limits, &request));
    model_number = 0;
    other.workspace--;
    CHECK(!knows(total, PROGRAM, &other, &request));
    request.engine.index++;
    CHECK(!knows(total, PROGRAM, &limits, &request));
    request.required++;
    CHECK(!knows(total, PROGRAM, &limits, &request));
}

/* Each option that decides what a site could use. */
static void other_options_ask_anew(void)
{
    struct rng rng = {SEED};
    struct cs_limits others[8];
    for (int i = 0; i < 8; i++)
        others[i] = limits;
    others[0].threshold = 1;
    others[1].lanes = 3;
    others[2].lent = !limits.lent;
    others[3].max_slowdown = 1300;
    others[4].min_saving = 4096;
    others[5].staging = limits.staging == CS_STAGING_NEVER ? CS_STAGING_AUTO : CS_STAGING_NEVER;
    others[6].exceeds = !limits.exceeds;
    others[7].huge = 1 << 20;
    make_sites(&rng);
    unlink(path);
    CHECK(!knows(sum_of(false), PROGRAM, &limits, &request_of[0]));
    for (int i = 0; i < 8; i++) {
        CHECK(!knows(sum_of(false), PROGRAM, &others[i], &request_of[0]));
        CHECK(knows(sum_of(false), PROGRAM, &others[i], &request_of[0]));
    }
    CHECK(knows(sum_of(false), PROGRAM, &limits, &request_of[0]));
}

/* Rules give sites of one program other limits: all of them are known to a later run. */
static void other_limits(void)
{
    struct rng rng = {SEED};
    struct process process;
    struct cs_limits other = limits;
    const struct cs_vendor vendor = vendor_of(&fake);
    make_sites(&rng);
    unlink(path);
    other.workspace /= 2;
    for (int run = 0; run < 2; run++) {
        start(&process, sum_of(false), PROGRAM);
        for (int i = 0; i < SITES; i++) {
            fake.calls = 0;
            cs_budget_limit(&process.budget, &process.store, &request_of[i], policy(),
                            i % 2 ? &other : &limits, &vendor);
            CHECK_INT(fake.calls == 0, run == 1);
        }
        end(&process);
    }
}

/* What was run on another device takes nothing of the total on this one. */
static void another_device(void)
{
    struct rng rng = {SEED};
    struct process process;
    int64_t bytes, cost, total;
    make_sites(&rng);
    unlink(path);
    total = sum_of(false) - 1;
    for (model_number = 1; model_number <= 3; model_number++)
        for (int run = 0; run < 2; run++) {
            start(&process, total, PROGRAM);
            run_program(&process, 0, &bytes, &cost);
            CHECK(run == 0 || cost == cheapest(0, total));
            end(&process);
        }
    model_number = 0;
}

/* Records that are no offers, under keys of this program's. */
static void strange_records(void)
{
    struct rng rng = {SEED};
    struct process process;
    int64_t bytes, cost;
    make_sites(&rng);
    unlink(path);
    int64_t total = sum_of(false);
    start(&process, total, PROGRAM);
    run_program(&process, 0, &bytes, &cost);
    uint64_t part = process.store.entry[0].key.part[0];
    static const int64_t odd[][4] = {{1, 7},
                                     {2, 7, 8},
                                     {3, -1, 2, 3},
                                     {3, 1, -2, 3},
                                     {3, 1, 2, -3},
                                     {3, INT64_MAX, 0, 3},
                                     {3, 0, INT64_MAX, 3}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct cs_store_record record = {.key = {{part, i}}, .words = (int)odd[i][0]};
        memcpy(record.word, &odd[i][1], 3 * sizeof *record.word);
        cs_store_put(&process.store, &record);
    }
    struct cs_store_record huge = {.key = {{part, 99}}, .words = CS_STORE_WORDS};
    cs_store_put(&process.store, &huge);
    end(&process);
    start(&process, total, PROGRAM);
    run_program(&process, 0, &bytes, &cost);
    CHECK_INT(cost, cheapest(0, total));
    CHECK_INT(process.budget.shares, SITES);
    end(&process);
}

/* One more record under a key of the program's: whether it is taken for the offers of one more
 * site. */
static void what_is_taken_for_offers(void)
{
    static const int64_t most = INT64_MAX / CS_SPLIT_SITES / 2;
    const struct {
        int words;
        int64_t word[3];
        bool taken;
    } row[] = {
        {3, {0, 0, 0}, true},         {3, {1, 1, 1}, true},
        {3, {0, most, 0}, true},      {3, {0, 0, INT64_MAX}, true},
        {3, {-1, 0, 0}, false},       {3, {0, -1, 0}, false},
        {3, {0, 0, -1}, false},       {3, {most + 1, 0, 0}, false},
        {3, {0, most + 1, 0}, false}, {1, {0}, false},
        {2, {0, 0}, false},
    };
    struct rng rng = {SEED};
    struct process process;
    int64_t bytes, cost;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        make_sites(&rng);
        unlink(path);
        int64_t total = sum_of(true);
        start(&process, total, PROGRAM);
        run_program(&process, 0, &bytes, &cost);
        struct cs_store_record record = {.key = {{process.store.entry[0].key.part[0], 4711}},
                                         .words = row[i].words};
        memcpy(record.word, row[i].word, sizeof row[i].word);
        cs_store_put(&process.store, &record);
        end(&process);
        start(&process, total, PROGRAM);
        run_program(&process, 0, &bytes, &cost);
        CHECK_INT(process.budget.shares, SITES + row[i].taken);
        end(&process);
    }
}

struct asker {
    struct process *process;
    struct fake fake;
    int64_t limit[SITES];
};

static void *ask(void *arg)
{
    struct asker *asker = arg;
    const struct cs_vendor vendor = vendor_of(&asker->fake);
    for (int i = 0; i < SITES; i++)
        asker->limit[i] = cs_budget_limit(&asker->process->budget, &asker->process->store,
                                          &request_of[i], policy(), &limits, &vendor);
    return NULL;
}

static void threads_get_one_answer(void)
{
    struct rng rng = {SEED};
    struct process process;
    struct asker asker[4];
    pthread_t thread[4];
    make_sites(&rng);
    unlink(path);
    start(&process, sum_of(false) / 2, PROGRAM);
    for (int i = 0; i < 4; i++) {
        asker[i] = (struct asker){.process = &process, .fake = fake};
        CHECK_INT(pthread_create(&thread[i], NULL, ask, &asker[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int i = 1; i < 4; i++)
        CHECK(memcmp(asker[i].limit, asker[0].limit, sizeof asker[0].limit) == 0);
    CHECK_INT(process.budget.shares, SITES);
    end(&process);
}

#define NUMBER(text) cs_program_number_of(text, sizeof text)

static void programs(void)
{
    CHECK(NUMBER("python\0train.py\0--lr\0003") == NUMBER("/usr/bin/python\0-u\0/some/train.py"));
    CHECK(NUMBER("python\0train.py") != NUMBER("python\0serve.py"));
    CHECK(NUMBER("python\0train.py") != NUMBER("python3\0train.py"));
    CHECK(NUMBER("decode\0--px\000512") == NUMBER("decode\0--dtype\000512"));
    CHECK(NUMBER("ab\0c") != NUMBER("a\0bc"));
    CHECK(NUMBER("decode") == NUMBER("decode\0-x\0--y"));
    CHECK(cs_program_number_of("", 0) == cs_program_number_of("", 0));
    CHECK(cs_program_number() == cs_program_number());
    CHECK(cs_program_number() != cs_program_number_of("", 0));
}

#define SCRIPT(text) cs_program_script_of(text, sizeof text, script)

static void scripts(void)
{
    char script[CS_PROGRAM_SCRIPT];
    CHECK_STR(SCRIPT("python3\0main.py\0--x"), "main.py");
    CHECK_STR(SCRIPT("/venv/bin/python3.11\0-u\0-W\0ignore\0-Xdev\0/a/main.py"), "main.py");
    CHECK_STR(SCRIPT("python\0-um\0pkg.train\0a.py"), "pkg.train");
    CHECK_STR(SCRIPT("python\0-mpkg\0a.py"), "pkg");
    CHECK_STR(SCRIPT("python\0--check-hash-based-pycs\0always\0b.py"), "b.py");
    CHECK_STR(SCRIPT("python\0-c\0print()\0a.py"), "");
    CHECK_STR(SCRIPT("python\0-X"), "");
    CHECK_STR(SCRIPT("python"), "");
    CHECK_STR(SCRIPT("python\0-\0a"), "");
    CHECK_STR(SCRIPT("julia\0run.jl"), "run.jl");
    CHECK_STR(SCRIPT("vae_decoder\0main.py"), "");
    CHECK_STR(cs_program_script_of("", 0, script), "");
    CHECK_STR(cs_program_script(script), "");
    char words[64];
    size_t bytes = cs_program_arguments(words, sizeof words);
    CHECK(bytes > 1 && words[bytes - 1] == '\0');
    CHECK_INT(cs_program_arguments(words, 3), 0);
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/convshim-budget-%d", temporary ? temporary : "/tmp",
             (int)getpid());
    snprintf(log_path, sizeof log_path, "%s.log", path);
    cs_log_open(CS_LOG_WARN, log_path);
    TEST(offers_are_true);
    TEST(an_offer_of_what_cannot_be_cut);
    TEST(an_offer_of_what_the_threshold_leaves_alone);
    TEST(runs);
    TEST(too_small);
    TEST(nothing_left_is_said_once);
    TEST(what_is_just_enough_is_not_said);
    TEST(a_new_site);
    TEST(a_site_too_many);
    TEST(what_is_the_same);
    TEST(other_options_ask_anew);
    TEST(other_limits);
    TEST(another_device);
    TEST(strange_records);
    TEST(what_is_taken_for_offers);
    TEST(threads_get_one_answer);
    TEST(programs);
    TEST(scripts);
    unlink(path);
    unlink(log_path);
    return REPORT();
}
