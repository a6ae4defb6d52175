import assert from "node:assert/strict";
import { test } from "node:test";
import { systemCallFilter } from "../../src/sandbox/sandbox.ts";

const [ALLOW, NO_CALL, NO_FAMILY] = ["allow", "ENOSYS", "EAFNOSUPPORT"] as const;
const answers = { 0x7fff0000: ALLOW, 0x00050026: NO_CALL, 0x00050061: NO_FAMILY };
const VSOCK = 40;

/** The answer of the kernel's machine to a call. */
function answer(processor: string, arch: number, number: number, argument = 0): string | undefined {
  const filter = Buffer.from(systemCallFilter(processor) ?? []);
  const data: Readonly<Record<number, number>> = { 0: number, 4: arch, 16: argument };
  let value = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const operand = filter.readUInt32LE(at + 4);
    switch (filter.readUInt16LE(at)) {
      case 0x20:
        value = data[operand] ?? NaN;
        break;
      case 0x54:
        value = (value & operand) >>> 0;
        break;
      case 0x15:
        at += 8 * filter.readUInt8(at + (value === operand ? 2 : 3));
        break;
      case 0x06:
        return Object.entries(answers).find(([code]) => Number(code) === operand)?.[1];
      default:
        return assert.fail("an unknown instruction");
    }
  }
  return undefined;
}

test("a sandbox has no keyrings, no io_uring and no sockets that need no network, in any interface", () => {
  for (const [processor, arch, socket, keys, read] of [
    ["x64", 0xc000003e, 41, [248, 249, 250], 0],
    ["x64", 0x40000003, 359, [286, 287, 288, 102], 3],
    ["arm64", 0xc00000b7, 198, [217, 218, 219], 63],
    ["arm64", 0x40000028, 281, [309, 310, 311], 3],
  ] as const) {
    for (const number of [...keys, 425])
      assert.equal(answer(processor, arch, number), NO_CALL, `${processor} ${number}`);
    for (const family of [1, 2, 10, 16])
      assert.equal(answer(processor, arch, socket, family), ALLOW);
    for (const family of [VSOCK, 38])
      assert.equal(answer(processor, arch, socket, family), NO_FAMILY);
    assert.equal(answer(processor, arch, read, VSOCK), ALLOW);
  }
  const x32 = 0x40000000;
  assert.equal(answer("x64", 0xc000003e, 250 + x32), NO_CALL);
  assert.equal(answer("x64", 0xc000003e, 41 + x32, VSOCK), NO_FAMILY);
  assert.equal(answer("x64", 0xc00000f3, 1), NO_CALL);
  assert.equal(systemCallFilter("riscv64"), undefined);
});
