// Device times of CUB's functions on the data of tools/bench/algorithms.py, one line each: name, microseconds.
// tools/bench/cub.py compiles it, each PART on its own, since CUB takes long to compile.

#include <cub/cub.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdint>
#include <cstdlib>

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t status = (call);                                            \
        if (status != cudaSuccess) {                                            \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

constexpr size_t COUNT = 1u << 28, KEYS = 1u << 26, SHORT = 1u << 22;

struct NotNegative {
    __device__ bool operator()(int x) const { return x >= 0; }
};

struct Greater {
    __device__ bool operator()(int x, int y) const { return x > y; }
};

__device__ uint32_t mixed(uint64_t i) {
    uint64_t z = i * 0x9E3779B97F4A7C15ull + 1;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return uint32_t(z ^ (z >> 31));
}

enum Data { FLOATS, SMALL, RUNS_OF_5, RUNS_OF_16, WORDS };

__global__ void fill(uint32_t *out, size_t count, Data data) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        uint32_t x = mixed(i);
        if (data == FLOATS) out[i] = __float_as_uint((x >> 8) * 0x1p-24f);
        else if (data == SMALL) out[i] = uint32_t(int(x >> 28) - 8);
        else if (data == RUNS_OF_5) out[i] = uint32_t(i / 5);
        else if (data == RUNS_OF_16) out[i] = uint32_t(i / 16);
        else out[i] = x;
    }
}

// Some 30 ms of work, for the clocks.
__global__ void busy(uint32_t *out) {
    uint32_t x = threadIdx.x;
    for (int k = 0; k < 6000000; ++k) x = x * 1664525u + 1013904223u;
    if (x == 1) *out = x;
}

uint32_t *filled(Data data, size_t count = COUNT) {
    uint32_t *made;
    CHECK(cudaMalloc(&made, count * sizeof(uint32_t)));
    fill<<<4096, 256>>>(made, count, data);
    return made;
}

template <typename Call>
void timed(const char *name, Call call) {
    void *memory = nullptr;
    size_t bytes = 0;
    CHECK(call(memory, bytes));
    CHECK(cudaMalloc(&memory, bytes ? bytes : 1));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    float best = 1e9f;
    for (int run = 0; run < 7; ++run) {
        busy<<<132, 256>>>(static_cast<uint32_t *>(memory));
        CHECK(call(memory, bytes));  // Warm caches, as the next call follows at once.
        CHECK(cudaEventRecord(begin));
        CHECK(call(memory, bytes));
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        best = std::min(best, ms);
    }
    std::printf("%s\t%.1f\n", name, best * 1e3f);
    CHECK(cudaFree(memory));
}

int main() {
    int *found;
    CHECK(cudaMalloc(&found, 4096));
    uint32_t *out;
    CHECK(cudaMalloc(&out, COUNT * sizeof(uint32_t)));
#if PART == 0
    auto floats = reinterpret_cast<float *>(filled(FLOATS));
    auto sums = reinterpret_cast<float *>(found);
    timed("sum", [&](void *m, size_t &b) { return cub::DeviceReduce::Sum(m, b, floats, sums, COUNT); });
    auto octets = reinterpret_cast<unsigned char *>(filled(WORDS, COUNT / 4));
    timed("histogram of bytes", [&](void *m, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(m, b, octets, found, 257, 0, 256, int(COUNT));
    });
    timed("histogram", [&](void *m, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(m, b, floats, found, 257, 0.0f, 1.0f, int(COUNT));
    });
#elif PART == 1
    auto small = reinterpret_cast<int *>(filled(SMALL)), result = reinterpret_cast<int *>(out);
    timed("scan", [&](void *m, size_t &b) { return cub::DeviceScan::InclusiveSum(m, b, small, result, COUNT); });
    timed("short scan", [&](void *m, size_t &b) { return cub::DeviceScan::InclusiveSum(m, b, small, result, SHORT); });
    auto runs = reinterpret_cast<int *>(filled(RUNS_OF_5));
    timed("scan by key", [&](void *m, size_t &b) {
        return cub::DeviceScan::InclusiveSumByKey(m, b, runs, small, result, int(COUNT));
    });
#elif PART == 2
    auto small = reinterpret_cast<int *>(filled(SMALL)), result = reinterpret_cast<int *>(out);
    timed("select", [&](void *m, size_t &b) {
        return cub::DeviceSelect::If(m, b, small, result, found, int(COUNT), NotNegative{});
    });
    timed("partition", [&](void *m, size_t &b) {
        return cub::DevicePartition::If(m, b, small, result, found, int(COUNT), NotNegative{});
    });
#elif PART == 3
    auto result = reinterpret_cast<int *>(out);
    auto lengths = reinterpret_cast<int *>(filled(WORDS));
    auto floats = reinterpret_cast<float *>(filled(FLOATS)), sums = reinterpret_cast<float *>(lengths);
    for (int length : {5, 16}) {
        auto runs = reinterpret_cast<int *>(filled(length == 5 ? RUNS_OF_5 : RUNS_OF_16));
        char name[64];
        std::snprintf(name, sizeof name, "unique of %d", length);
        timed(name, [&](void *m, size_t &b) {
            return cub::DeviceSelect::Unique(m, b, runs, result, found, int(COUNT));
        });
        std::snprintf(name, sizeof name, "run lengths of %d", length);
        timed(name, [&](void *m, size_t &b) {
            return cub::DeviceRunLengthEncode::Encode(m, b, runs, result, lengths, found, int(COUNT));
        });
        std::snprintf(name, sizeof name, "sums by key of %d", length);
        timed(name, [&](void *m, size_t &b) {
            return cub::DeviceReduce::ReduceByKey(
                m, b, runs, result, floats, sums, found, cuda::std::plus<>{}, int(COUNT));
        });
        CHECK(cudaFree(runs));
    }
#elif PART == 4
    auto keys = reinterpret_cast<int *>(filled(WORDS, KEYS)), result = reinterpret_cast<int *>(out);
    timed("sort", [&](void *m, size_t &b) { return cub::DeviceRadixSort::SortKeys(m, b, keys, result, KEYS); });
    auto values = reinterpret_cast<int *>(filled(WORDS, KEYS));
    timed("sort of pairs", [&](void *m, size_t &b) {
        return cub::DeviceRadixSort::SortPairs(m, b, keys, result, values, result + KEYS, KEYS);
    });
#elif PART == 5
    auto keys = reinterpret_cast<int *>(filled(WORDS, KEYS)), result = reinterpret_cast<int *>(out);
    timed("merge sort", [&](void *m, size_t &b) {
        return cub::DeviceMergeSort::SortKeysCopy(m, b, keys, result, KEYS, Greater{});
    });
#endif
    return 0;
}
