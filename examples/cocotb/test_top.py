# SPDX-License-Identifier: MIT OR Apache-2.0
"""cocotb tests of `rtl/hdl/ws_top.sv`, the memory system of one SM: L1, crossbar, L2 and DRAM channel.

The tests take the place of the SM. They send memory instructions of warps through `core_req`, and compare
every reply on `core_rsp` with a model: a dictionary that has the value of each byte that was written.

They run with cocotb 1.9 and 2.x, and use only what both have: `int(value)`, and the unit of time by position.
"""

import random
from collections import Counter, deque
from dataclasses import dataclass, field

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, FallingEdge, ReadOnly

LANES = 32
WARPS = 48
# Kinds of an instruction, and the spaces of memory.
LOAD, STORE = 0, 1
GLOBAL, LOCAL = 0, 1
# Kinds of a reply to the core.
DATA, ACKNOWLEDGMENT = 0, 1
# Kind of a request to the L2 that reads a line.
READ = 0
# Commands on the command bus of the channel.
RD, WR = 2, 3
# Number of random instructions.
INSTRUCTIONS = 3000
# Number of random instructions that the core has sent, or wants to send, at a time.
IN_FLIGHT = 24


@dataclass(eq=False)
class Instruction:
    """Memory instruction of a warp. For each active lane, it has an address and, for a store, a value."""

    kind: int
    size_log2: int
    addresses: dict[int, int]
    data: dict[int, int] = field(default_factory=dict)
    space: int = GLOBAL
    uncached: bool = False
    # Values that a load returned, by lane.
    loaded: dict[int, int] = field(default_factory=dict)
    # Cycles in which the instruction and its reply were transferred.
    sent: int = 0
    replied: int = 0
    done: Event = field(default_factory=Event)

    @property
    def mask(self):
        return sum(1 << lane for lane in self.addresses)

    @property
    def latency(self):
        return self.replied - self.sent

    def bytes_of(self, lane):
        """Returns the addresses of the bytes that a lane accesses, the least significant byte first."""
        first = self.addresses[lane]
        return range(first, first + (1 << self.size_log2))


class Memory(dict):
    """Model of the memory: the value of each byte that was written, by address."""

    def perform(self, instruction):
        """Performs an instruction, and returns the values that a load has to return, by lane.

        If several lanes of a store write one byte, the highest of them wins.
        """
        expected = {}
        for lane in sorted(instruction.addresses):
            own = instruction.bytes_of(lane)
            if instruction.kind == STORE:
                self.update(zip(own, instruction.data[lane].to_bytes(len(own), "little")))
            else:
                expected[lane] = int.from_bytes((self[address] for address in own), "little")
        return expected


class Core:
    """SM at the ports of the module, which also counts the messages between the blocks.

    Inputs change at the falling edge of the clock, and outputs are read before the next rising edge. The
    result therefore does not depend on the order of events at the rising edge, in which simulators differ.
    """

    def __init__(self, dut):
        self.dut = dut
        self.addr_bits = len(dut.core_req_address_i) // LANES
        self.line_bytes = 1 << int(dut.LINE_LOG2.value)
        self.burst_bytes = int(dut.L2_BURST_BYTES.value)
        # Percentage of cycles in which the core accepts a reply.
        self.takes = 100
        self.cycle = 0
        self.quiet = 0
        self.counts = Counter()
        self.flushes = False
        self.waiting = deque()
        self.pending = {}
        self.driven = None
        self.bits = {}
        self.next_pc = 0

    async def reset(self):
        """Starts the clock, resets the module, and starts to drive its ports."""
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk_i, 2, "ns").start())
        for signal in (dut.now_i, dut.flush_i, dut.core_req_valid_i, dut.core_rsp_ready_i, dut.core_req_function_i):
            signal.value = 0
        for signal in (dut.core_req_type_i, dut.core_req_compare_i, dut.core_req_beat_i):
            signal.value = 0
        dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        cocotb.start_soon(self.run())

    async def run(self):
        """Drives and reads all ports in each cycle."""
        while True:
            await FallingEdge(self.dut.clk_i)
            self.drive()
            await ReadOnly()
            self.sample()
            self.cycle += 1

    def drive(self):
        dut = self.dut
        dut.now_i.value = self.cycle
        self.set(dut.flush_i, self.flushes)
        self.flushes = False
        self.set(dut.core_rsp_ready_i, random.randrange(100) < self.takes)
        head = self.waiting[0] if self.waiting else None
        self.set(dut.core_req_valid_i, head is not None)
        if head is None or head is self.driven:
            return
        self.driven = head
        dut.core_req_kind_i.value = head.kind
        dut.core_req_space_i.value = head.space
        dut.core_req_uncached_i.value = int(head.uncached)
        # The program counter comes back in the reply. It is the number of the instruction here.
        dut.core_req_pc_i.value = self.next_pc
        dut.core_req_warp_i.value = self.next_pc % WARPS
        dut.core_req_size_log2_i.value = head.size_log2
        dut.core_req_mask_i.value = head.mask
        dut.core_req_address_i.value = sum(at << (lane * self.addr_bits) for lane, at in head.addresses.items())
        # The low words of all lanes, then the high words.
        low = sum((value & 0xFFFF_FFFF) << (32 * lane) for lane, value in head.data.items())
        high = sum((value >> 32) << (32 * lane) for lane, value in head.data.items())
        dut.core_req_data_i.value = high << (32 * LANES) | low

    def set(self, signal, value):
        """Writes an input of one bit if its value changes, because each write costs simulation time."""
        if self.bits.get(signal) != value:
            self.bits[signal] = value
            signal.value = int(value)

    def sample(self):
        dut = self.dut
        self.quiet += 1
        if self.transfers(dut.core_req_valid_i, dut.core_req_ready_o):
            instruction = self.waiting.popleft()
            instruction.sent = self.cycle
            self.pending[self.next_pc] = instruction
            self.next_pc = (self.next_pc + 1) % (1 << len(dut.core_req_pc_i))
        if self.transfers(dut.core_rsp_valid_o, dut.core_rsp_ready_i):
            self.take_reply()
        # A word has its first field in the highest bits: the kind, or whether it is a write.
        if self.transfers(dut.l1_req_valid, dut.l1_req_ready):
            kind = int(dut.l1_req.value) >> (len(dut.l1_req) - 2)
            self.counts["L1 reads" if kind == READ else "L1 writes"] += 1
        if self.transfers(dut.fetch_valid, dut.fetch_ready):
            is_write = int(dut.fetch.value) >> (len(dut.fetch) - 1)
            self.counts["L2 writes" if is_write else "L2 reads"] += 1
        command = int(dut.command_kind_o.value)
        if command:
            self.quiet = 0
        if command in (RD, WR):
            self.counts["DRAM reads" if command == RD else "DRAM writes"] += 1

    def transfers(self, valid, ready):
        """Returns true if a message is transferred in this cycle."""
        is_transfer = bool(int(valid.value) and int(ready.value))
        if is_transfer:
            self.quiet = 0
        return is_transfer

    def take_reply(self):
        dut = self.dut
        pc = int(dut.core_rsp_pc_o.value)
        assert pc in self.pending, f"a reply to instruction {pc}, which waits for none"
        instruction = self.pending.pop(pc)
        assert int(dut.core_rsp_warp_o.value) == pc % WARPS
        assert int(dut.core_rsp_mask_o.value) == instruction.mask
        assert int(dut.core_rsp_size_log2_o.value) == instruction.size_log2
        assert int(dut.core_rsp_kind_o.value) == (DATA if instruction.kind == LOAD else ACKNOWLEDGMENT)
        instruction.replied = self.cycle
        if instruction.kind == LOAD:
            data = int(dut.core_rsp_data_o.value)
            for lane in instruction.addresses:
                low, high = (data >> (32 * word) & 0xFFFF_FFFF for word in (lane, LANES + lane))
                instruction.loaded[lane] = high << 32 | low if instruction.size_log2 == 3 else low
        instruction.done.set()

    async def settle(self):
        """Returns when nothing is on its way between the blocks, or waits for memory."""
        dut = self.dut
        links = (dut.INJECT, dut.TO_L2, dut.FROM_L2, dut.DELIVER, dut.FROM_DRAM, dut.DRAM_RC, dut.DRAM_READ_LATENCY)
        longest = 50 + sum(int(delay.value) for delay in links)
        while self.waiting or self.pending or self.quiet < longest:
            await FallingEdge(dut.clk_i)

    def whole_line(self, kind, line):
        """Returns an instruction whose lanes access all bytes of a line. A store has random data."""
        size_log2 = int(self.dut.LINE_LOG2.value) - 5
        addresses = {lane: line * self.line_bytes + (lane << size_log2) for lane in range(LANES)}
        data = {lane: random.getrandbits(8 << size_log2) for lane in addresses if kind == STORE}
        return Instruction(kind, size_log2, addresses, data)


async def finish(instruction, expected):
    """Waits for the reply, and compares what a load returned with the expected values, by lane."""
    await instruction.done.wait()
    for lane, value in expected.items():
        loaded = instruction.loaded[lane]
        assert loaded == value, (
            f"lane {lane} loads {loaded:#x} from address {instruction.addresses[lane]:#x}, expected {value:#x}; "
            f"sent in cycle {instruction.sent}"
        )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_level_answers_and_the_nearer_is_the_faster(dut):
    """Loads one line from DRAM, from the L2 and from the L1, and prints the latencies."""
    core, model = Core(dut), Memory()
    await core.reset()

    async def step(what, instruction):
        """Executes an instruction alone. Returns its latency, and the messages that it caused."""
        await core.settle()
        before = core.counts.copy()
        expected = model.perform(instruction)
        core.waiting.append(instruction)
        await finish(instruction, expected)
        await core.settle()
        caused = core.counts - before
        messages = ", ".join(f"{count} {name}" for name, count in sorted(caused.items())) or "nothing behind the L1"
        dut._log.info(f"{what:38} {instruction.latency:4} cycles: {messages}")
        return instruction.latency, caused

    sets, ways = int(dut.L2_SETS.value), int(dut.L2_WAYS.value)
    bursts = core.line_bytes // core.burst_bytes
    line = 3
    _, caused = await step("store to a line", core.whole_line(STORE, line))
    assert caused["L1 writes"] == 1 and not caused["L1 reads"]

    # The store left the line in the L2, and not in the L1.
    l2_hit, caused = await step("load: L1 miss, L2 hit", core.whole_line(LOAD, line))
    assert caused == Counter({"L1 reads": 1})
    l1_hit, caused = await step("load: L1 hit", core.whole_line(LOAD, line))
    assert caused == Counter()

    # More lines of the same set than the L2 has ways evict the line to DRAM.
    for other in range(1, ways + 1):
        await step(f"store to line {other} of the same set", core.whole_line(STORE, line + other * sets))
    assert core.counts["DRAM writes"] >= bursts
    _, caused = await step("load: still an L1 hit", core.whole_line(LOAD, line))
    assert caused == Counter()
    core.flushes = True
    dram, caused = await step("load after a flush: L1 miss, L2 miss", core.whole_line(LOAD, line))
    assert caused["L1 reads"] == 1 and caused["L2 reads"] == bursts and caused["DRAM reads"] == bursts

    # A store evicts its line from the L1, and the next load gets the new bytes from the L2.
    await step("store to a line in the L1", core.whole_line(STORE, line))
    again, _ = await step("load: L1 miss, L2 hit", core.whole_line(LOAD, line))

    dut._log.info(f"latencies in cycles: L1 hit {l1_hit}, L2 hit {l2_hit}, DRAM {dram}")
    # The header of ws_l1_cache states the latency of a hit. The others are at least the delays on their way.
    assert l1_hit == 3
    assert l2_hit == again
    way = (dut.INJECT, dut.TO_L2, dut.L2_LATENCY, dut.FROM_L2, dut.DELIVER)
    assert l2_hit > l1_hit + sum(int(delay.value) for delay in way)
    assert dram > l2_hit + int(dut.DRAM_READ_LATENCY.value) + int(dut.FROM_DRAM.value)


class Traffic:
    """Random instructions. The lower half of the lines is global memory, and the upper half local memory."""

    def __init__(self, core, num_lines):
        self.line_bytes, self.num_lines = core.line_bytes, num_lines
        self.recent = {GLOBAL: deque([0], maxlen=4), LOCAL: deque([num_lines // 2], maxlen=4)}

    def space_of(self, line):
        return LOCAL if line >= self.num_lines // 2 else GLOBAL

    def line_in(self, space):
        """Returns a line that was accessed lately, or any line."""
        if random.randrange(100) < 60:
            return random.choice(self.recent[space])
        half = self.num_lines // 2
        line = random.randrange(half) + (half if space == LOCAL else 0)
        self.recent[space].append(line)
        return line

    def draw(self):
        kind, space = random.choice((LOAD, LOAD, STORE)), random.choice((GLOBAL, LOCAL))
        size_log2 = random.randrange(4)
        lines = [self.line_in(space) for _ in range(random.choice((1, 1, 1, 2, 4)))]
        mask = random.choice(((1 << LANES) - 1, random.randrange(1, 1 << LANES)))
        lanes = [lane for lane in range(LANES) if mask >> lane & 1]
        positions = self.line_bytes >> size_log2
        offsets = {lane: random.randrange(positions) << size_log2 for lane in lanes}
        addresses = {lane: random.choice(lines) * self.line_bytes + offsets[lane] for lane in lanes}
        data = {lane: random.getrandbits(8 << size_log2) for lane in lanes if kind == STORE}
        uncached = kind == LOAD and space == GLOBAL and random.randrange(10) == 0
        return Instruction(kind, size_log2, addresses, data, space, uncached)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random_accesses_return_the_bytes_of_the_model(dut):
    """Sends random loads and stores, many at a time, to twice as many lines as the L2 has."""
    core, model = Core(dut), Memory()
    await core.reset()
    num_lines = 2 * int(dut.L2_SETS.value) * int(dut.L2_WAYS.value)
    assert num_lines * core.line_bytes <= int(dut.MEM_BURSTS.value) * core.burst_bytes, "MEM_BURSTS is too small"
    traffic = Traffic(core, num_lines)
    # The memory has no defined contents, so that every line is written first.
    for line in range(num_lines):
        instruction = core.whole_line(STORE, line)
        instruction.space = traffic.space_of(line)
        model.perform(instruction)
        core.waiting.append(instruction)
    await core.settle()

    # Accesses to one byte are performed in the order of their instructions. The model can therefore perform
    # an instruction before those that were sent earlier have their replies.
    core.takes = 70
    before, lines_loaded = core.counts.copy(), 0
    in_flight = deque()
    for _ in range(INSTRUCTIONS):
        if len(in_flight) == IN_FLIGHT:
            await finish(*in_flight.popleft())
        instruction = traffic.draw()
        if instruction.kind == LOAD:
            lines_loaded += len({address // core.line_bytes for address in instruction.addresses.values()})
        in_flight.append((instruction, model.perform(instruction)))
        core.waiting.append(instruction)
    for instruction, expected in in_flight:
        await finish(instruction, expected)
    await core.settle()

    caused = core.counts - before
    dut._log.info(f"{INSTRUCTIONS} instructions in {core.cycle} cycles; loads of {lines_loaded} lines caused:")
    for name, count in sorted(caused.items()):
        dut._log.info(f"  {count:6} {name}")
    # All paths were used: hits or merged misses of the L1, writebacks, and both directions to DRAM.
    assert 0 < caused["L1 reads"] < lines_loaded
    assert all(caused[name] > 0 for name in ("L1 writes", "L2 reads", "L2 writes", "DRAM reads", "DRAM writes"))
