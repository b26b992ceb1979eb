#version 450
#extension GL_KHR_shader_subgroup_basic : require

// The tiled product of the textbooks, lowered by hand for CPU devices: one subgroup of LANES runs a tile of 16 x 16, its
// threads are loops between the barriers, and no barrier() is left. Groups: n / 16 x n / 16.

layout(local_size_x = LANES) in;

layout(push_constant) uniform Launch {
    int n;
};

layout(std430, set = 0, binding = 0) restrict readonly buffer A {
    float a[];
};

layout(std430, set = 0, binding = 1) restrict readonly buffer B {
    float b[];
};

layout(std430, set = 0, binding = 2) restrict writeonly buffer C {
    float c[];
};

shared float rows[16][16];
shared float cols[16][16];

void main() {
    const int lane = int(gl_LocalInvocationID.x);
    const int row0 = int(gl_WorkGroupID.y) * 16;
    const int col0 = int(gl_WorkGroupID.x) * 16;

    // For each lane the columns lane, lane + LANES, ... of the tile; eight rows at once are in registers.
    const int COUNT = 16 / LANES;
    float kept[2][COUNT][8];
    for (int part = 0; part < 2; ++part) {
        for (int i = 0; i < COUNT; ++i) {
            for (int row = 0; row < 8; ++row) {
                kept[part][i][row] = 0.0;
            }
        }
    }
    for (int first = 0; first < n; first += 16) {
        for (int row = 0; row < 16; ++row) {
            for (int col = lane; col < 16; col += LANES) {
                rows[row][col] = a[(row0 + row) * n + first + col];
                cols[row][col] = b[(first + row) * n + col0 + col];
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        for (int part = 0; part < 2; ++part) {
            int row = part * 8;
            for (int i = 0; i < COUNT; ++i) {
                int col = lane + i * LANES;
                float t0 = kept[part][i][0];
                float t1 = kept[part][i][1];
                float t2 = kept[part][i][2];
                float t3 = kept[part][i][3];
                float t4 = kept[part][i][4];
                float t5 = kept[part][i][5];
                float t6 = kept[part][i][6];
                float t7 = kept[part][i][7];
                for (int k = 0; k < 16; ++k) {
                    float right = cols[k][col];
                    t0 = fma(rows[row + 0][k], right, t0);
                    t1 = fma(rows[row + 1][k], right, t1);
                    t2 = fma(rows[row + 2][k], right, t2);
                    t3 = fma(rows[row + 3][k], right, t3);
                    t4 = fma(rows[row + 4][k], right, t4);
                    t5 = fma(rows[row + 5][k], right, t5);
                    t6 = fma(rows[row + 6][k], right, t6);
                    t7 = fma(rows[row + 7][k], right, t7);
                }
                kept[part][i][0] = t0;
                kept[part][i][1] = t1;
                kept[part][i][2] = t2;
                kept[part][i][3] = t3;
                kept[part][i][4] = t4;
                kept[part][i][5] = t5;
                kept[part][i][6] = t6;
                kept[part][i][7] = t7;
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
    for (int part = 0; part < 2; ++part) {
        for (int i = 0; i < COUNT; ++i) {
            for (int row = 0; row < 8; ++row) {
                c[(row0 + part * 8 + row) * n + col0 + lane + i * LANES] = kept[part][i][row];
            }
        }
    }
}
