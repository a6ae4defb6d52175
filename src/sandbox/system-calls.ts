/**
 * Refuses system calls that no namespace isolates: keyrings, io_uring, which opens sockets by itself, and sockets that
 * need no network, such as AF_VSOCK.
 */

/** AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. */
const families = [0, 1, 2, 10, 16];
const IO_URING_SETUP = 425;
const [ENOSYS, EAFNOSUPPORT] = [38, 97];

/**
 * For programs of 64 and of 32 bits: the interface (AUDIT_ARCH), `socket`, then `add_key`, `request_key`, `keyctl`, and
 * `socketcall`, whose arguments a filter can't see. Programs of another interface can't call the kernel.
 */
const interfaces: Readonly<Record<string, readonly (readonly number[])[]>> = {
  x64: [
    [0xc000003e, 41, 248, 249, 250],
    [0x40000003, 359, 286, 287, 288, 102],
  ],
  arm64: [
    [0xc00000b7, 198, 217, 218, 219],
    [0x40000028, 281, 309, 310, 311],
  ],
};

/** Its code, with the number of instructions to skip if it doesn't hold in the highest byte, and its operand. */
type Instruction = readonly [code: number, operand: number];

const load = (offset: number): Instruction => [0x20, offset];
const refuse = (error: number): Instruction => [0x06, 0x00050000 | error];
const allow: Instruction = [0x06, 0x7fff0000];
/** The calls of x32 are those of x86-64 with a further bit. */
const withoutX32: Instruction = [0x54, 0xbfffffff];
const where = (value: number, then: readonly Instruction[]): readonly Instruction[] => [
  [0x15 | (then.length << 24), value],
  ...then,
];

/** A program for seccomp. Undefined for a processor that isn't listed. */
export function systemCallFilter(processor: string = process.arch): Uint8Array | undefined {
  const all = interfaces[processor]?.flatMap(([arch = 0, socket = 0, ...refused]) =>
    where(arch, [
      load(0),
      withoutX32,
      ...[...refused, IO_URING_SETUP].flatMap((call) => where(call, [refuse(ENOSYS)])),
      ...where(socket, [
        load(16),
        ...families.flatMap((family) => where(family, [allow])),
        refuse(EAFNOSUPPORT),
      ]),
      allow,
    ]),
  );
  if (all === undefined) return undefined;
  return new Uint8Array(Uint32Array.from([load(4), ...all, refuse(ENOSYS)].flat()).buffer);
}
