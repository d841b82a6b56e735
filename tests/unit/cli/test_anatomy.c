/* The anatomy of three networks against figures computed by hand, and where a step begins and ends.
 */
#include "check.h"
#include "cli/report/anatomy.h"

enum {
    MOST = 128
};

/* A network: sites and the order in which they are called. */
static struct cs_anatomy_site sites[MOST];
static int64_t order[MOST];
static size_t count, calls;

static void clear(void)
{
    count = calls = 0;
}

/* A square convolution that keeps the extent, in f32; workspace 1000 times its number, reported 10.
 */
static size_t add(enum cs_pass pass, int64_t n, int64_t c, int64_t extent, int64_t k,
                  int64_t window)
{
    struct cs_anatomy_site site = {.pass = pass,
                                   .x = {n, c, 1, extent, extent},
                                   .w = {k, c, 1, window, window},
                                   .y = {n, k, 1, extent, extent},
                                   .x_bytes = 4 * n * c * extent * extent,
                                   .w_bytes = 4 * k * c * window * window,
                                   .y_bytes = 4 * n * k * extent * extent,
                                   .required = 1000 * (int64_t)(count + 1),
                                   .reported = 10};
    sites[count] = site;
    return count++;
}

static void call(size_t site)
{
    order[calls++] = (int64_t)site;
}

static struct cs_anatomy anatomy_of(void)
{
    struct cs_anatomy anatomy = {.layers = 0};
    CHECK(cs_anatomy(sites, count, order, calls, &anatomy));
    return anatomy;
}

/* Three layers, N = 1, extent 2 (4 pixels), windows 1x1: channels 1 -> 2 -> 3 -> 1, f32.
 *   filters 1*2*4 = 8, 2*3*4 = 24, 3*1*4 = 12: 44 bytes
 *   outputs 2*4*4 = 32, 3*4*4 = 48, 1*4*4 = 16: 96 bytes
 *   inputs  1*4*4 = 16, 32, 48: 96 bytes
 *   flops   2 * outputs' elements * C: 2*8*1 = 16, 2*12*2 = 48, 2*4*3 = 24 */
static void tiny_calls(size_t steps, bool training)
{
    static const int64_t channels[] = {1, 2, 3, 1};
    size_t site[3][CS_PASSES] = {{0}};
    clear();
    for (int i = 0; i < 3; i++)
        for (int pass = 0; pass < (training ? CS_PASSES : 1); pass++)
            site[i][pass] = add((enum cs_pass)pass, 1, channels[i], 2, channels[i + 1], 1);
    for (size_t step = 0; step < steps; step++) {
        for (int i = 0; i < 3; i++)
            call(site[i][CS_PASS_FORWARD]);
        for (int i = 2; i >= 0 && training; i--) {
            if (i > 0)
                call(site[i][CS_PASS_DGRAD]);
            call(site[i][CS_PASS_WGRAD]);
        }
    }
}

static void tiny_totals(void)
{
    tiny_calls(1, true);
    struct cs_anatomy anatomy = anatomy_of();
    CHECK(anatomy.training);
    CHECK_INT(anatomy.calls, 8);
    CHECK_INT(anatomy.total.layers, 3);
    CHECK_INT(anatomy.total.filters, 44);
    CHECK_INT(anatomy.total.gradients, 44);
    CHECK_INT(anatomy.total.outputs, 96);
    CHECK_INT(anatomy.total.inputs_kept, 96);
    CHECK_INT(anatomy.total.flops, 88);
    /* Sites are numbered layer by layer: f d w, f d w, f d w; the last layer's wgrad is number 9.
     */
    CHECK_INT(anatomy.total.required, 9000);
    CHECK_INT(anatomy.total.reported, 10);
    cs_anatomy_fini(&anatomy);
}

/* Held: filters 44 always.
 *   f1 44+32 = 76, f2 124, f3 140
 *   d3 140 + dy 16 + dx 48 = 204; w3 140 + dw 12 + dy 16 = 168, then y3 (16) goes: 136
 *   d2 136 + dy 48 + dx 32 = 216; w2 136 + 24 + 48 = 208, then y2 (48) goes: 112
 *   w1 112 + dw 8 + dy 32 = 152 */
static void tiny_moments(void)
{
    static const int64_t after[] = {76, 124, 140, 204, 168, 216, 208, 152};
    tiny_calls(1, true);
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(anatomy.moments, 8);
    for (size_t i = 0; i < anatomy.moments && i < 8; i++) {
        CHECK_INT(anatomy.moment[i].after, after[i] + 10);
        CHECK_INT(anatomy.moment[i].before, after[i] + 1000 * (order[i] + 1));
    }
    CHECK_INT(anatomy.peak_after, 226);
    CHECK_INT(anatomy.peak_before, 9168); /* w3, whose workspace is the largest */
    cs_anatomy_fini(&anatomy);
}

/* Bytes an operation: 32/16 = 2, 48/48 = 1, 16/24 = 0.67. */
static void tiny_checkpoints(void)
{
    struct cs_anatomy_checkpoint list[3];
    tiny_calls(1, true);
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(cs_anatomy_checkpoints(&anatomy, list), 3);
    CHECK_INT(list[0].layer, 0);
    CHECK_INT(list[1].layer, 1);
    CHECK_INT(list[2].layer, 2);
    CHECK_INT(list[1].running, 80);
    CHECK_INT(list[2].running, 96);
    CHECK_INT(list[2].running_flops, 88);
    anatomy.layers = 2; /* entries after the last are not read */
    CHECK_INT(cs_anatomy_checkpoints(&anatomy, list), 2);
    anatomy.layers = 3;
    cs_anatomy_fini(&anatomy);
}

/* By bytes for each operation, then the larger, then the earlier. An output that is not kept, is
 * empty or costs no time is not listed. */
static void the_order_of_checkpoints(void)
{
    static const struct {
        int64_t dgrad, wgrad, outputs, flops;
        int64_t place; /* -1: none */
    } rows[] = {{0, 1, 20, 10, 3}, {1, 0, 40, 20, 1}, {1, 1, 20, 10, 4},  {1, 1, 30, 10, 0},
                {0, 1, 10, 10, 6}, {1, 0, 40, 20, 2}, {1, 0, 10, 10, 7},  {0, 0, 90, 10, -1},
                {1, 1, 0, 10, -1}, {1, 1, 90, 0, -1}, {1, 0, 19, 10, 5},  {0, 1, 9, 10, 8},
                {1, 1, 1, 2, 9},   {1, 1, 1, 3, 10},  {1, 1, -5, 10, -1}, {1, 1, 5, -10, -1}};
    enum {
        ROWS = sizeof rows / sizeof *rows
    };
    struct cs_anatomy_layer layers[ROWS] = {{0}};
    struct cs_anatomy_checkpoint list[ROWS];
    struct cs_anatomy whole = {.layers = ROWS, .layer = layers};
    for (size_t i = 0; i < ROWS; i++)
        layers[i] = (struct cs_anatomy_layer){.calls = {7, rows[i].dgrad, rows[i].wgrad},
                                              .outputs = rows[i].outputs,
                                              .flops = rows[i].flops};
    CHECK_INT(cs_anatomy_checkpoints(&whole, list), 11);
    int64_t bytes = 0, flops = 0;
    for (int64_t place = 0; place < 11; place++)
        for (size_t i = 0; i < ROWS; i++)
            if (rows[i].place == place) {
                CHECK_INT(list[place].layer, i);
                CHECK_INT(list[place].saved, rows[i].outputs);
                CHECK_INT(list[place].flops, rows[i].flops);
                CHECK_INT(list[place].running, bytes += rows[i].outputs);
                CHECK_INT(list[place].running_flops, flops += rows[i].flops);
            }
}

static void one_step_of_many(void)
{
    tiny_calls(5, true);
    for (int i = 0; i < 3; i++) /* an evaluation at the end is no step of training */
        call((size_t)order[i]);
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(anatomy.calls, 8);
    CHECK_INT(anatomy.first, 32);
    CHECK_INT(anatomy.total.outputs, 96);
    cs_anatomy_fini(&anatomy);
}

/* Inference holds filters and the call's own tensors: the second layer's 44 + 32 + 48 = 124. */
static void inference(void)
{
    struct cs_anatomy_checkpoint list[3];
    tiny_calls(4, false);
    struct cs_anatomy anatomy = anatomy_of();
    CHECK(!anatomy.training);
    CHECK_INT(anatomy.calls, 3);
    CHECK_INT(anatomy.total.filters, 44);
    CHECK_INT(anatomy.total.inputs_kept, 0);
    CHECK_INT(anatomy.total.gradients, 0);
    CHECK_INT(anatomy.peak_after, 124 + 10);
    CHECK_INT(cs_anatomy_checkpoints(&anatomy, list), 0);
    cs_anatomy_fini(&anatomy);
}

/* A frozen first layer: its output is not held. f1 44 + x 16 + y 32 = 92, f2 44 + 48 = 92. */
static void frozen(void)
{
    struct cs_anatomy_checkpoint list[3];
    tiny_calls(1, true);
    calls--;
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(anatomy.total.gradients, 36);
    CHECK_INT(anatomy.moment[0].after, 92 + 10);
    CHECK_INT(anatomy.moment[1].after, 92 + 10);
    CHECK_INT(cs_anatomy_checkpoints(&anatomy, list), 2);
    cs_anatomy_fini(&anatomy);
}

/* The thirteen convolutions of VGG-16, N = 1, 224x224, f32, without biases. Filter elements, 9 C K:
 *   1728 + 36864 + 73728 + 147456 + 294912 + 2*589824 + 1179648 + 5*2359296 = 14710464
 *   times 4 = 58841856 bytes
 * Output elements: 2 * 64*224^2 + 2 * 128*112^2 + 3 * 256*56^2 + 3 * 512*28^2 + 3 * 512*14^2
 *   = 6422528 + 3211264 + 2408448 + 1204224 + 301056 = 13547520, times 4 = 54190080 bytes
 * Operations: the 15.3 thousand million products of the paper, each with its sum: 30693261312 */
static void vgg(void)
{
    static const int64_t c[] = {3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512};
    static const int64_t k[] = {64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512};
    static const int64_t extent[] = {224, 224, 112, 112, 56, 56, 56, 28, 28, 28, 14, 14, 14};
    clear();
    for (int i = 0; i < 13; i++)
        call(add(CS_PASS_FORWARD, 1, c[i], extent[i], k[i], 3));
    for (int i = 12; i >= 0; i--)
        call(add(CS_PASS_WGRAD, 1, c[i], extent[i], k[i], 3));
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(anatomy.total.layers, 13);
    CHECK_INT(anatomy.total.filters, 58841856);
    CHECK_INT(anatomy.total.gradients, 58841856);
    CHECK_INT(anatomy.total.outputs, 54190080);
    CHECK_INT(anatomy.total.flops, 30693261312);
    cs_anatomy_fini(&anatomy);
}

/* Appends the U-Net's layers, three sites each; false if the list cannot be read. */
static bool unet_sites(void)
{
    char line[256], name[64];
    FILE *file = fopen("tests/data/conv_layers.csv", "r");
    clear();
    while (file && fgets(line, sizeof line, file)) {
        int n, c, h, w, k, window;
        if (sscanf(line, "avatar-unet-b128,%63[^,],fwd,%d,%d,1,%d,%d,%d,1,%d,", name, &n, &c, &h,
                   &w, &k, &window) != 7)
            continue;
        CHECK_INT(h, w);
        for (int pass = 0; pass < CS_PASSES; pass++)
            add((enum cs_pass)pass, n, c, h, k, window);
    }
    if (file)
        fclose(file);
    return count == (size_t)17 * CS_PASSES;
}

/* Calls sites as cuDNN is called: equal ones are one site, which must not make layers fewer. */
static void unet_calls(void)
{
    size_t first[MOST] = {0};
    for (size_t i = 0; i < count; i++) {
        first[i] = i;
        for (size_t j = 0; j < i && first[i] == i; j++)
            if (sites[i].pass == sites[j].pass &&
                memcmp(sites[i].x, sites[j].x, sizeof sites[i].x) == 0 &&
                memcmp(sites[i].y, sites[j].y, sizeof sites[i].y) == 0)
                first[i] = j;
    }
    for (size_t i = 0; i < count; i += CS_PASSES)
        call(first[i]);
    for (size_t i = count; i > 0; i -= CS_PASSES) {
        call(first[i - 2]);
        call(first[i - 1]);
    }
}

/* avatar-unet-b128, N = 128, 3x3, f32. Filter elements / 9, C K of each layer:
 *   3*128 + 128*128 * 3 = 49536; 128*256 + 256*256 = 98304; 256*512 + 512*512 = 393216;
 *   512*1024 + 1024*1024 = 1572864; 1024*512 + 512*512 = 786432; 512*256 + 256*256 = 196608;
 *   256*128 + 128*128 = 49152; 128*3 = 384: 3146496, times 9 times 4 = 113273856 bytes
 * Outputs, channels * pixels of one sample: 64x64: (4*128 + 2*128 + 3) * 4096 = 3158016;
 *   32x32: (2*256 + 2*256) * 1024 = 1048576; 16x16: 4*512 * 256 = 524288; 8x8: 2*1024 * 64 =
 * 131072: 4861952, times 128 times 4 = 2489319424 bytes Inputs: 64x64: (3 + 3*128 + 256 + 128 +
 * 128) * 4096 = 3682304; 32x32: (128 + 256 + 512 + 256) * 1024 = 1179648; 16x16: (256 + 512 + 1024
 * + 512) * 256 = 589824; 8x8: (512 + 1024) * 64 = 98304: 5550080, times 512 = 2841640960 bytes */
static void unet(void)
{
    CHECK(unet_sites());
    unet_calls();
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(anatomy.calls, 51);
    CHECK_INT(anatomy.total.layers, 17);
    CHECK_INT(anatomy.total.filters, 113273856);
    CHECK_INT(anatomy.total.gradients, 113273856);
    CHECK_INT(anatomy.total.outputs, 2489319424);
    CHECK_INT(anatomy.total.inputs_kept, 2841640960);
    cs_anatomy_fini(&anatomy);
}

static void empty_and_invalid_orders_are_accepted(void)
{
    clear();
    struct cs_anatomy anatomy = anatomy_of();
    CHECK_INT(anatomy.calls + anatomy.layers + anatomy.moments, 0);
    cs_anatomy_fini(&anatomy);
    call(add(CS_PASS_FORWARD, 1, 1, 1, 1, 1));
    order[calls++] = -1;
    order[calls++] = 77;
    anatomy = anatomy_of();
    CHECK_INT(anatomy.moments, 1);
    cs_anatomy_fini(&anatomy);
    sites[0].y[0] = INT64_MAX / 4;
    sites[0].y[1] = 4;
    CHECK(!cs_anatomy(sites, count, order, calls, &anatomy));
}

/* Transposed convolutions run as data gradients. */
static void a_transposed_convolution_is_no_training(void)
{
    clear();
    size_t down = add(CS_PASS_FORWARD, 1, 4, 8, 8, 3), up = add(CS_PASS_DGRAD, 1, 2, 8, 8, 3);
    size_t last = add(CS_PASS_FORWARD, 1, 2, 8, 1, 1);
    for (int pass = 0; pass < 3; pass++) {
        call(down);
        call(up);
        call(last);
    }
    struct cs_anatomy anatomy = anatomy_of();
    CHECK(!anatomy.training);
    CHECK_INT(anatomy.calls, 3);
    cs_anatomy_fini(&anatomy);
}

/* Forward: down, up (a transposed convolution). Backward: up runs as a forward call. */
static void training_step(const size_t site[4])
{
    for (size_t i = 0; i < 4; i++)
        call(site[i]);
    call(site[0]); /* the data gradient of the transposed convolution has the shape of `down` */
    call(site[3]);
}

static void training_with_transposed_convolutions(void)
{
    clear();
    const size_t site[] = {add(CS_PASS_FORWARD, 1, 4, 8, 8, 3), add(CS_PASS_DGRAD, 1, 4, 8, 8, 3),
                           add(CS_PASS_FORWARD, 1, 2, 8, 1, 1), add(CS_PASS_WGRAD, 1, 4, 8, 8, 3)};
    call(site[2]); /* warm-up */
    for (int step = 0; step < 3; step++)
        training_step(site);
    struct cs_anatomy anatomy = anatomy_of();
    CHECK(anatomy.training);
    CHECK_INT(anatomy.calls, 6);
    CHECK_INT(anatomy.first, 13);
    CHECK_INT(anatomy.covered, 18);
    const struct cs_anatomy_held *held = &anatomy.held_after;
    CHECK_INT(held->filters + held->gradients + held->outputs + held->call + held->workspace,
              anatomy.peak_after);
    cs_anatomy_fini(&anatomy);
}

/* Forward and backward calls that never repeat are many steps, not one. */
static void no_step_without_repetition(void)
{
    clear();
    for (int64_t step = 1; step <= 6; step++) {
        for (int64_t i = 1; i <= 4; i++)
            call(add(CS_PASS_FORWARD, step, i, 8, i, 1));
        call(add(CS_PASS_WGRAD, step, 4, 8, 4, 1));
    }
    struct cs_anatomy anatomy = anatomy_of();
    CHECK(anatomy.training);
    CHECK_INT(anatomy.calls + anatomy.layers + anatomy.moments, 0);
    CHECK_INT(anatomy.covered, 0);
    cs_anatomy_fini(&anatomy);
}

int main(void)
{
    TEST(training_with_transposed_convolutions);
    TEST(no_step_without_repetition);
    TEST(a_transposed_convolution_is_no_training);
    TEST(tiny_totals);
    TEST(tiny_moments);
    TEST(tiny_checkpoints);
    TEST(the_order_of_checkpoints);
    TEST(one_step_of_many);
    TEST(inference);
    TEST(frozen);
    TEST(vgg);
    TEST(unet);
    TEST(empty_and_invalid_orders_are_accepted);
    return REPORT();
}
