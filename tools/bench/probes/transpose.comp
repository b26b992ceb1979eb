#version 450
#extension GL_EXT_control_flow_attributes : require
// Blocks of 32 x 32 through shared memory, four rows per thread; a column more, so that no two rows share a bank.
layout(local_size_x=32, local_size_y=8) in;
layout(set=0,binding=0) readonly buffer A {float a[];};
layout(set=0,binding=1) writeonly buffer B {float b[];};
layout(push_constant) uniform P {uint n;};
shared float s[32][33];
void main(){
  uint r=gl_LocalInvocationID.y, c=gl_LocalInvocationID.x, top=gl_WorkGroupID.y*32, side=gl_WorkGroupID.x*32;
  [[unroll]] for(uint q=0;q<32;q+=8) s[r+q][c]=a[(top+r+q)*n+side+c];
  barrier();
  [[unroll]] for(uint q=0;q<32;q+=8) b[(side+r+q)*n+top+c]=s[c][r+q];
}
