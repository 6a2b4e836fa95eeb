// Output of nvdisasm: kinds of instructions, loops, bytes of accesses, loads that wait for nothing.
#include "ppc/KernelModel/MachineCode.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

// Output of `nvdisasm -c` for a kernel whose loop adds a row, with a slow path for a reciprocal and padding at the end.
static const char *const sample = R"(
	.section	.text.rows,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=24"
rows:
.text.rows:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   HFMA2.MMA R9, -RZ, RZ, 0, 1.1920928955078125e-07 ;
.L_x_1:
        /*0020*/                   LDG.E.128 R4, [R2.64] ;
        /*0030*/                   LDG.E.128 R8, desc[UR4][R2.64+0x10] ;
        /*0040*/                   LDG.E R20, [R2.64+0x20] ;
        /*0050*/                   FADD R4, R4, R8 ;
        /*0060*/               @P1 BRA `(.L_x_2) ;
        /*0070*/                   MOV R12, 0x90 ;
        /*0080*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_rcp_rn_f32_slowpath) ;
        /*0090*/                   BRA `(.L_x_3) ;
.L_x_2:
        /*00a0*/                   MUFU.RCP R14, R3 ;
.L_x_3:
        /*00b0*/                   LDS.128 R16, [R0] ;
        /*00c0*/                   IADD3 R2, R2, 0x1, RZ ;
        /*00d0*/              @!P0 BRA `(.L_x_1) ;
        /*00e0*/                   STG.E.64 [R2.64], R4 ;
        /*00f0*/                   EXIT ;
$__internal_0_$__cuda_sm20_rcp_rn_f32_slowpath:
        /*0100*/                   MUFU.RCP R4, R3 ;
        /*0110*/                   RET.REL.NODEC R4 `(rows) ;
.L_x_9:
        /*0120*/                   BRA `(.L_x_9);
        /*0130*/                   NOP;
	.section	.text.next,"ax",@progbits
.text.next:
        /*0000*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
        /*0010*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0020*/                   EXIT ;
	.section	.text.group,"ax",@progbits
.text.group:
        /*0000*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], RZ, !UPT ;
        /*0010*/                   HGMMA.64x128x16.F32.BF16 R24, R4, gdesc[UR8].tnspB, R24 ;
        /*0020*/                   EXIT ;
)";

TEST(MachineCode, KernelsAndTheirLoops) {
  std::vector<MachineKernel> kernels = readMachineCode(sample);
  ASSERT_EQ(kernels.size(), 3u);
  const MachineKernel &rows = kernels[0];
  EXPECT_EQ(rows.name, "rows");
  EXPECT_EQ(rows.registers, 24);
  ASSERT_EQ(rows.loops.size(), 1u);
  const MachineCounts &loop = rows.loops[0].counts;
  EXPECT_EQ(rows.mainLoop(), &rows.loops[0]);
  EXPECT_EQ(loop.of(MachineUnit::Global), 3);
  EXPECT_EQ(loop.loadedBytes, 36);
  EXPECT_EQ(loop.of(MachineUnit::Float), 1);
  EXPECT_EQ(loop.of(MachineUnit::Special), 1); // not the one of the slow path
  EXPECT_EQ(loop.of(MachineUnit::Integer), 1);
  EXPECT_EQ(loop.of(MachineUnit::Shared), 1);
  EXPECT_EQ(loop.sharedBytes, 512);
  EXPECT_EQ(loop.instructions(), 9);
  EXPECT_EQ(rows.outside.storedBytes, 8);
  EXPECT_EQ(rows.outside.instructions(), 4);
  EXPECT_EQ(rows.once().instructions(), 13);
}

TEST(MachineCode, LoadsWaitForTheirFirstUse) { EXPECT_EQ(readMachineCode(sample)[0].bytesInFlight, 36); }

TEST(MachineCode, AChainOfLoadsHasOneInFlight) {
  std::vector<MachineKernel> kernels = readMachineCode(".text.gather:\n"
                                                       "  /*0000*/  LDG.E R4, [R2.64] ;\n"
                                                       "  /*0010*/  LDG.E.128 R8, [R4.64] ;\n"
                                                       "  /*0020*/  STG.E.128 [R6.64], R8 ;\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].bytesInFlight, 16);
  EXPECT_EQ(kernels[0].mainLoop(), nullptr);
}

// The assembler may put a part of a loop before its beginning: one loop, whose iteration has the instructions of both
// parts. With an entry into the first part there are two loops.
TEST(MachineCode, APartOfALoopMayPrecedeIt) {
  auto kernelAfter = [](std::string way) {
    return readMachineCode(".text.moved:\n"
                           "        /*0000*/         " +
                           way +
                           " BRA `(.L_x_1) ;\n"
                           ".L_x_0:\n"
                           "        /*0010*/                   FADD R4, R4, R8 ;\n"
                           "        /*0020*/                   BRA `(.L_x_2) ;\n"
                           ".L_x_1:\n"
                           "        /*0030*/                   LDG.E R4, [R2.64] ;\n"
                           "        /*0040*/               @P0 BRA `(.L_x_0) ;\n"
                           ".L_x_2:\n"
                           "        /*0050*/                   STG.E [R2.64], R4 ;\n"
                           "        /*0060*/               @P1 BRA `(.L_x_1) ;\n"
                           "        /*0070*/                   EXIT ;\n")
        .front();
  };
  MachineKernel one = kernelAfter("");
  ASSERT_EQ(one.loops.size(), 1u);
  EXPECT_EQ(one.loops[0].counts.instructions(), 6);
  EXPECT_EQ(one.outside.instructions(), 2);
  EXPECT_EQ(kernelAfter("@P2").loops.size(), 2u);
}

// The shorter of two loops with the same MMAs is steady, even if the longer one moves more.
TEST(MachineCode, TheSteadyLoopIsTheShortestWithMostMatmuls) {
  std::vector<MachineKernel> kernels =
      readMachineCode(".text.two:\n"
                      ".L_x_0:\n"
                      "        /*0000*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
                      "        /*0010*/                   FADD R4, R4, R8 ;\n"
                      "        /*0020*/               @P0 BRA `(.L_x_0) ;\n"
                      ".L_x_1:\n"
                      "        /*0030*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
                      "        /*0040*/                   FADD R4, R4, R8 ;\n"
                      "        /*0050*/                   STG.E [R2.64], R4 ;\n"
                      "        /*0060*/               @P1 BRA `(.L_x_1) ;\n"
                      "        /*0070*/                   EXIT ;\n");
  ASSERT_EQ(kernels[0].loops.size(), 2u);
  EXPECT_EQ(kernels[0].mainLoop(), &kernels[0].loops[0]);
}

TEST(MachineCode, TensorInstructions) {
  MachineCounts counts = readMachineCode(sample)[1].once();
  EXPECT_EQ(counts.of(MachineUnit::Tensor), 1);
  EXPECT_EQ(counts.tensorFlops, 4096);
  EXPECT_EQ(counts.sharedBytes, 512);
  EXPECT_EQ(unitOf("HFMA2.MMA"), MachineUnit::Float); // a move on the half-precision pipe
  EXPECT_EQ(unitOf("HGMMA.64x128x16.F32.BF16"), MachineUnit::Tensor);
  EXPECT_EQ(unitOf("LDGSTS.E.BYPASS.128"), MachineUnit::Global);
  EXPECT_EQ(unitOf("F2FP.BF16.PACK_AB"), MachineUnit::Integer);
  EXPECT_EQ(unitOf("BAR.SYNC"), MachineUnit::Other);
}

TEST(MachineCode, OtherTextHasNoKernels) { EXPECT_TRUE(readMachineCode("a file of something else\n").empty()); }

TEST(MachineCode, MatmulsOfWarpgroups) {
  MachineCounts counts = readMachineCode(sample)[2].once();
  EXPECT_EQ(counts.of(MachineUnit::Tensor), 2);
  EXPECT_EQ(counts.tensorFlops, 2 * 2 * 64 * 128 * 16 / 4);                       // a warp's part
  EXPECT_EQ(counts.sharedBytes, 2 * (128 * 16 + 64 * 16) / 4 + 2 * 128 * 16 / 4); // the second has one operand there
}
