// SPDX-License-Identifier: MIT OR Apache-2.0
// # L1 data cache with the LSU around it
// Executes the memory instructions of an SM's warps, as `rtl/l1/lsu.rs` does in the machine `fermi`. A warp
// instruction is split into line requests (coalescer), which wait in the access queue for the tags. A load
// hits, joins a line in flight, misses or is refused. A store to global memory evicts its line and is sent to
// memory; a store to local memory that hits modifies the line, which is written back when it is evicted.
// Atomics and reductions evict the line and are executed in memory. Loads that are marked uncached bypass the
// cache. All requests to memory leave through the miss queue, except bypassing loads.
//
// | port       | contract                                                                                  |
// |------------|-------------------------------------------------------------------------------------------|
// | `core_req` | an instruction of a warp, with at least one lane                                          |
// | `core_rsp` | one reply per instruction                                                                 |
// | `mem_req`  | reads, stores, writebacks and atomics                                                     |
// | `mem_rsp`  | lines and acknowledgments; waits only for loads that still read the old line of the way   |
// | `flush`    | the tags are cleared, and modified lines are lost; every instruction has its reply        |
//
// A message is transferred in a cycle in which its `valid` and `ready` are set. In one cycle, in this order:
// 1. A complete instruction is answered. The reply from memory is taken: it fills a line, or is a bypass
//    reply or an acknowledgment, which goes to the pending table.
// 2. One load that waits on the line filled first gets its bytes.
// 3. One request enters the network: the head of the miss queue, or a load on the bypass path. If both
//    compete, they alternate. A load must not overtake a write to its line.
// 4. The oldest line request probes the tags, where the fill of step 1 is already visible. A request that is
//    refused changes nothing, stays at the head of the access queue, and retries in the next cycle.
// 5. The coalescer emits its next line request, if the access queue had room before step 4. Then it may take
//    an instruction.
// 6. At the end of a kernel, `flush` clears the tags. The next cycle sees an empty cache.
//
// Kinds of accesses: 0 load, 1 store, 2 atomic, 3 reduction. Spaces: 0 global, 1 local. Atomics, reductions
// and uncached loads are global. Requests: 0 read, 1 write, 2 atomic, 3 reduction. Replies from memory and to
// the core: 0 data, 1 acknowledgment. The reply from memory has the ticket of its request: lanes in bits 31
// to 0, row of the pending table in bits 37 to 32, writeback in bit 46, bypass path in bit 47. The id, the SM
// and the sectors of a reply are ignored.
//
// The fields of a message are those of the Rust block. `core_rsp_data_o` is valid as in `ws_l1_pending`;
// `mem_req_function_o` and `mem_req_type_o` are valid in requests of atomics and reductions. Bytes of
// `mem_req_data_o` outside of the byte mask are 0, except for comparison values. The lines are interleaved
// over PARTITIONS: partition `line mod PARTITIONS` has a line.
//
// The data are in a memory with two reads and two writes per cycle, which is read in the cycle of the tag
// probe (`ws_cells_ram`): a hit completes its row of the pending table in the same cycle.
//
// Latency: 2 cycles from `core_req` to the tags, and on a hit 1 cycle from there to `core_rsp`.
// Not covered: constant and texture caches, bypass schemes, tags other than plain tags with LRU and an index
// of the lowest bits, sectors, several lookups per cycle, a victim cache, a prefetcher, an MSHR policy, MRPB,
// recalls by the L2, a sharing tracker, instruction lines.
module ws_l1_cache #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int LINE_BITS = 25,
    parameter int LINE_LOG2 = 7,
    parameter int MSHR_ENTRIES = 32,
    parameter int MSHR_MERGES = 8,
    parameter int MISS_QUEUE = 8,
    parameter int ACCESS_QUEUE = 8,
    parameter int SLOTS = 64,
    parameter int PC_BITS = 20,
    parameter int PARTITIONS = 6,
    parameter int SM_BITS = 4,
    parameter int SM = 0,
    localparam int LANES = 32,
    localparam int ADDR_BITS = LINE_BITS + LINE_LOG2,
    localparam int LINE_BYTES = 1 << LINE_LOG2,
    localparam int PARTITION_BITS = PARTITIONS < 2 ? 1 : $clog2(PARTITIONS),
    localparam int TICKET_BITS = 48
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    input  logic                       flush_i,

    output logic                       core_req_ready_o,
    input  logic                       core_req_valid_i,
    input  logic [1:0]                 core_req_kind_i,
    input  logic [1:0]                 core_req_space_i,
    input  logic                       core_req_uncached_i,
    input  logic [5:0]                 core_req_warp_i,
    input  logic [PC_BITS-1:0]         core_req_pc_i,
    input  logic [1:0]                 core_req_beat_i,
    input  logic [1:0]                 core_req_size_log2_i,
    input  logic [LANES-1:0]           core_req_mask_i,
    input  logic [3:0]                 core_req_function_i,
    input  logic [3:0]                 core_req_type_i,
    input  logic [LANES*ADDR_BITS-1:0] core_req_address_i,
    input  logic [64*LANES-1:0]        core_req_data_i,
    input  logic [64*LANES-1:0]        core_req_compare_i,

    input  logic                       core_rsp_ready_i,
    output logic                       core_rsp_valid_o,
    output logic                       core_rsp_kind_o,
    output logic [5:0]                 core_rsp_warp_o,
    output logic [PC_BITS-1:0]         core_rsp_pc_o,
    output logic [1:0]                 core_rsp_beat_o,
    output logic [1:0]                 core_rsp_size_log2_o,
    output logic [LANES-1:0]           core_rsp_mask_o,
    output logic [64*LANES-1:0]        core_rsp_data_o,

    input  logic                       mem_req_ready_i,
    output logic                       mem_req_valid_o,
    output logic [1:0]                 mem_req_kind_o,
    output logic [31:0]                mem_req_id_o,
    output logic [LINE_BITS-1:0]       mem_req_line_o,
    output logic [SM_BITS-1:0]         mem_req_sm_o,
    output logic [PARTITION_BITS-1:0]  mem_req_partition_o,
    output logic [TICKET_BITS-1:0]     mem_req_ticket_o,
    output logic [3:0]                 mem_req_function_o,
    output logic [3:0]                 mem_req_type_o,
    output logic [3:0]                 mem_req_sectors_o,
    output logic [LINE_BYTES-1:0]      mem_req_byte_mask_o,
    output logic [8*LINE_BYTES-1:0]    mem_req_data_o,

    output logic                       mem_rsp_ready_o,
    input  logic                       mem_rsp_valid_i,
    input  logic                       mem_rsp_kind_i,
    input  logic [31:0]                mem_rsp_id_i,
    input  logic [LINE_BITS-1:0]       mem_rsp_line_i,
    input  logic [SM_BITS-1:0]         mem_rsp_sm_i,
    input  logic [TICKET_BITS-1:0]     mem_rsp_ticket_i,
    input  logic [3:0]                 mem_rsp_sectors_i,
    input  logic [8*LINE_BYTES-1:0]    mem_rsp_data_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1 || 1 << $clog2(SETS) != SETS) begin : g_refuse_sets
    $error("SETS is %0d, expected a power of two", SETS);
  end
  if (WAYS < 2 || 1 << $clog2(WAYS) != WAYS) begin : g_refuse_ways
    $error("WAYS is %0d, expected a power of two from 2 on", WAYS);
  end
  if (LINE_BITS <= $clog2(SETS)) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected more than the set index has", LINE_BITS);
  end
  if (LINE_LOG2 < 6 || LINE_LOG2 > 7) begin : g_refuse_line_log2
    $error("LINE_LOG2 is %0d, expected 6 or 7", LINE_LOG2);
  end
  if (MSHR_ENTRIES < 1) begin : g_refuse_mshr_entries
    $error("MSHR_ENTRIES is %0d, expected 1 or more", MSHR_ENTRIES);
  end
  if (MSHR_MERGES < 1) begin : g_refuse_mshr_merges
    $error("MSHR_MERGES is %0d, expected 1 or more", MSHR_MERGES);
  end
  if (MISS_QUEUE < 2) begin : g_refuse_miss_queue
    $error("MISS_QUEUE is %0d, expected 2 or more", MISS_QUEUE);
  end
  if (ACCESS_QUEUE < 1) begin : g_refuse_access_queue
    $error("ACCESS_QUEUE is %0d, expected 1 or more", ACCESS_QUEUE);
  end
  if (SLOTS < 1 || SLOTS > 64) begin : g_refuse_slots
    $error("SLOTS is %0d, expected 1 to 64", SLOTS);
  end
  if (PC_BITS < 1) begin : g_refuse_pc_bits
    $error("PC_BITS is %0d, expected 1 or more", PC_BITS);
  end
  if (PARTITIONS < 1) begin : g_refuse_partitions
    $error("PARTITIONS is %0d, expected 1 or more", PARTITIONS);
  end
  if (SM_BITS < 1) begin : g_refuse_sm_bits
    $error("SM_BITS is %0d, expected 1 or more", SM_BITS);
  end
  if (SM < 0 || 64'(SM) >= 64'd1 << SM_BITS) begin : g_refuse_sm
    $error("SM is %0d, expected a number of SM_BITS bits", SM);
  end
`endif

  localparam logic [1:0] LOAD = 0, GLOBAL = 0, LOCAL = 1;
  localparam logic DATA = 0;
  localparam int WRITE_BACK_TICKET = 46, BYPASS_TICKET = 47;
  localparam logic [2:0] READ = 0, WRITE = 1, WRITE_BACK = 2, ATOMIC = 3, REDUCE = 4;
  // Function and type of a request that is not an atomic, as in a free slot of a queue.
  localparam logic [7:0] NO_ATOMIC = 8'd2;
  localparam int SET_BITS = $clog2(SETS), WAY_BITS = $clog2(WAYS);
  localparam int S_BITS = SETS < 2 ? 1 : SET_BITS, TAG_BITS = LINE_BITS > SET_BITS ? LINE_BITS - SET_BITS : 1;
  localparam int PLACE_BITS = SET_BITS + WAY_BITS;

  logic        bypass_turn_q;
  logic [15:0] write_backs_q;

  // Head of the access queue.
  logic                    has_head;
  logic [1:0]              head_kind, head_space;
  logic                    head_uncached;
  logic [31:0]             head_id;
  logic [5:0]              head_warp, head_slot;
  logic [LINE_BITS-1:0]    head_line;
  logic [LANES-1:0]        head_lanes;
  logic [3:0]              head_sectors;
  logic [7:0]              head_atomic;
  logic [LINE_BYTES-1:0]   head_byte_mask;
  logic [8*LINE_BYTES-1:0] head_data;
  wire                     is_load = head_kind == LOAD;
  wire                     head_bypasses = has_head && is_load && head_space == GLOBAL && head_uncached;

  // Step 1: a reply from memory fills a line, or goes to the pending table.
  wire                    rsp_fills = mem_rsp_kind_i == DATA && !mem_rsp_ticket_i[BYPASS_TICKET];
  wire                    rsp_wrote_back = mem_rsp_kind_i != DATA && mem_rsp_ticket_i[WRITE_BACK_TICKET];
  logic                   fill_hit, fill_blocked;
  logic [PLACE_BITS-1:0]  fill_place;
  wire                    fills = mem_rsp_valid_i && rsp_fills && fill_hit && !fill_blocked;
  wire                    puts = mem_rsp_valid_i && !rsp_fills && !rsp_wrote_back;
  assign mem_rsp_ready_o = !rsp_fills || !fill_blocked;

  // Step 2: a load that waits on the line filled first gets its bytes.
  logic                    pops;
  logic [PLACE_BITS-1:0]   pop_place, acc_place;
  logic [5:0]              pop_slot;
  logic [LANES-1:0]        pop_lanes;
  logic [8*LINE_BYTES-1:0] pop_stored, acc_stored;
  wire  [8*LINE_BYTES-1:0] pop_line = fills && fill_place == pop_place ? mem_rsp_data_i : pop_stored;
  wire  [8*LINE_BYTES-1:0] acc_line = fills && fill_place == acc_place ? mem_rsp_data_i : acc_stored;

  // Step 3: a request enters the network.
  localparam int M_BITS = 3 + 32 + LINE_BITS + TICKET_BITS + 8 + 9 * LINE_BYTES;
  localparam int ROOM_BITS = $clog2(MISS_QUEUE + 1);
  logic                    holds_write, has_miss;
  logic [M_BITS-1:0]       miss_head, first, second;
  logic [ROOM_BITS-1:0]    room;
  logic [2:0]              miss_kind;
  logic [31:0]             miss_id;
  logic [LINE_BITS-1:0]    miss_line;
  logic [TICKET_BITS-1:0]  miss_ticket;
  logic [7:0]              miss_atomic;
  logic [LINE_BYTES-1:0]   miss_byte_mask;
  logic [8*LINE_BYTES-1:0] miss_data;
  assign {miss_kind, miss_id, miss_line, miss_ticket, miss_atomic, miss_byte_mask, miss_data} = miss_head;
  wire bypass_wins = head_bypasses && (!has_miss || bypass_turn_q) && !holds_write;
  wire sends = mem_req_valid_o && mem_req_ready_i;
  wire sends_queued = sends && !bypass_wins;
  wire sends_head = sends && bypass_wins;
  assign mem_req_valid_o = has_miss || bypass_wins;
  assign mem_req_id_o = bypass_wins ? head_id : miss_id;
  assign mem_req_line_o = bypass_wins ? head_line : miss_line;
  assign mem_req_sm_o = SM_BITS'(SM);
  assign mem_req_partition_o = PARTITION_BITS'(mem_req_line_o % LINE_BITS'(PARTITIONS));
  assign mem_req_ticket_o = bypass_wins ? {1'b1, (TICKET_BITS - 7 - LANES)'(0), head_slot, head_lanes} : miss_ticket;
  assign {mem_req_function_o, mem_req_type_o} = bypass_wins ? NO_ATOMIC : miss_atomic;
  assign mem_req_sectors_o = 4'((1 << LINE_BYTES / 32) - 1);
  assign mem_req_byte_mask_o = bypass_wins ? '0 : miss_byte_mask;
  assign mem_req_data_o = bypass_wins ? '0 : miss_data;
  always_comb
    if (bypass_wins) mem_req_kind_o = 2'd0;
    else
      case (miss_kind)
        WRITE, WRITE_BACK: mem_req_kind_o = 2'd1;
        ATOMIC: mem_req_kind_o = 2'd2;
        REDUCE: mem_req_kind_o = 2'd3;
        default: mem_req_kind_o = 2'd0;
      endcase

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      bypass_turn_q <= 0;
      write_backs_q <= '0;
    end else begin
      if (sends) bypass_turn_q <= !bypass_wins && head_bypasses;
      write_backs_q <= write_backs_q + 16'(sends_queued && miss_kind == WRITE_BACK)
          - 16'(mem_rsp_valid_i && rsp_wrote_back);
    end

  // Step 4: the head of the access queue probes the tags.
  wire                  probes = has_head && !head_bypasses;
  wire [TAG_BITS-1:0]   head_tag = TAG_BITS'(head_line >> SET_BITS);
  wire [S_BITS-1:0]     head_set = SETS < 2 ? '0 : S_BITS'(head_line);
  logic                 present, reserved, victim_valid, victim_holds, victim_modified;
  logic [WAY_BITS-1:0]  way, victim_way;
  logic [TAG_BITS-1:0]  victim_tag;
  logic                 is_open, is_free, drains;
  wire                  is_here = present || reserved;
  wire                  writes_back = victim_holds && victim_modified;
  wire                  has_room = room > ROOM_BITS'(writes_back);
  wire                  modifies = !is_load && head_space == LOCAL && present;
  logic                 accepts;
  always_comb
    if (!probes) accepts = 0;
    else if (is_load) accepts = present || (reserved ? is_open : victim_valid && is_free && has_room);
    else accepts = modifies ? !drains : room != 0;
  wire misses = accepts && is_load && !is_here;
  wire stores = accepts && !is_load && !modifies;
  wire leaves = sends_head || accepts;

  wire [1:0]            tags_op = is_load ? 2'd1 : head_space == LOCAL ? 2'd2 : 2'd3;
  logic [1:0]           mshr_op;
  logic [S_BITS-1:0]    fill_set;
  logic [LINE_BITS-1:0] victim_line;
  always_comb
    if (!accepts) mshr_op = 2'd0;
    else if (misses) mshr_op = 2'd2;
    else if (!reserved) mshr_op = 2'd0;
    else mshr_op = is_load ? 2'd1 : 2'd3;
  if (SETS < 2) begin : g_one_set
    assign fill_set = '0;
    assign acc_place = is_here ? way : victim_way;
    assign victim_line = victim_tag;
  end else begin : g_sets
    assign fill_set = fill_place[PLACE_BITS-1:WAY_BITS];
    assign acc_place = {head_set, is_here ? way : victim_way};
    assign victim_line = {victim_tag, head_set};
  end

  // Entries of the miss queue: a miss sends its read after the writeback of its victim.
  wire [2:0] store_kind = head_kind == 2'd1 ? WRITE : head_kind == 2'd2 ? ATOMIC : REDUCE;
  wire [TICKET_BITS-1:0] ticket = {(TICKET_BITS - 6 - LANES)'(0), head_slot, head_lanes};
  wire [TICKET_BITS-1:0] store_ticket = {head_kind == 2'd2, ticket[TICKET_BITS-2:0]};
  wire [M_BITS-1:0] read = {READ, head_id, head_line, ticket, NO_ATOMIC, (9 * LINE_BYTES)'(0)};
  wire [TICKET_BITS-1:0] write_back_ticket = TICKET_BITS'(1) << WRITE_BACK_TICKET;
  wire [M_BITS-1:0] write_back =
      {WRITE_BACK, head_id, victim_line, write_back_ticket, NO_ATOMIC, {LINE_BYTES{1'b1}}, acc_line};
  wire [M_BITS-1:0] store = {store_kind, head_id, head_line, store_ticket, head_atomic, head_byte_mask, head_data};
  assign first = !is_load ? store : writes_back ? write_back : read;
  assign second = read;

  // Bytes of a line after a store to local memory.
  logic [8*LINE_BYTES-1:0] merged;
  for (genvar b = 0; b < LINE_BYTES; b++) begin : g_merged
    assign merged[8*b+:8] = head_byte_mask[b] ? head_data[8*b+:8] : acc_line[8*b+:8];
  end
  ws_cells_ram #(
      .WORDS(SETS * WAYS), .BYTES(LINE_BYTES)
  ) data (
      .clk_i, .read_address_i({acc_place, pop_place}), .read_data_o({acc_stored, pop_stored}),
      .write_valid_i({accepts && modifies, fills}), .write_address_i({acc_place, fill_place}),
      .write_data_i({merged, mem_rsp_data_i})
  );

  // verilator lint_off PINCONNECTEMPTY
  ws_l1_tags #(
      .SETS(SETS), .WAYS(WAYS), .TAG_BITS(TAG_BITS), .POLICY(0)
  ) tags (
      .clk_i, .rst_ni, .flush_i,
      .fill_valid_i(fills), .fill_set_i(fill_set), .fill_way_i(fill_place[WAY_BITS-1:0]), .fill_kept_o(),
      .op_i(tags_op), .go_i(accepts), .set_index_i(head_set), .tag_i(head_tag),
      .present_o(present), .reserved_o(reserved), .modified_o(), .way_o(way),
      .victim_valid_o(victim_valid), .victim_holds_o(victim_holds), .victim_modified_o(victim_modified),
      .victim_way_o(victim_way), .victim_tag_o(victim_tag)
  );
  ws_l1_mshr #(
      .ENTRIES(MSHR_ENTRIES), .MERGES(MSHR_MERGES), .LINE_BITS(LINE_BITS), .PLACE_BITS(PLACE_BITS), .RECALLS(0)
  ) mshr (
      .clk_i, .rst_ni,
      .fill_valid_i(mem_rsp_valid_i && rsp_fills), .fill_line_i(mem_rsp_line_i), .fill_hit_o(fill_hit),
      .fill_place_o(fill_place), .fill_blocked_o(fill_blocked),
      .recall_valid_i(1'b0), .recall_line_i(LINE_BITS'(0)), .recall_hit_o(),
      .pop_ready_i(1'b1), .pop_valid_o(pops), .pop_line_o(), .pop_place_o(pop_place), .pop_slot_o(pop_slot),
      .pop_lanes_o(pop_lanes), .pop_last_o(), .has_ready_o(),
      .acc_op_i(mshr_op), .acc_go_i(accepts), .acc_line_i(head_line), .acc_place_i(acc_place),
      .acc_slot_i(head_slot), .acc_lanes_i(head_lanes), .acc_open_o(is_open), .acc_full_o(), .acc_draining_o(),
      .acc_free_o(is_free), .acc_entry_o(), .acc_drains_o(drains)
  );
  // verilator lint_on PINCONNECTEMPTY
  ws_l1_miss_queue #(
      .DEPTH(MISS_QUEUE), .LINE_BITS(LINE_BITS), .LINE_BYTES(LINE_BYTES), .TICKET_BITS(TICKET_BITS)
  ) miss_queue (
      .clk_i, .rst_ni, .search_line_i(head_line), .holds_write_o(holds_write),
      .pop_i(sends_queued), .head_valid_o(has_miss), .head_o(miss_head), .room_o(room),
      .push_i(misses || stores), .push_second_i(misses && writes_back), .first_i(first), .second_i(second)
  );

  // Step 5: the coalescer emits a request to the access queue, and takes an instruction.
  logic                       emits, takes_ready, alloc_ready;
  logic [5:0]                 alloc_slot;
  localparam int Q_BITS = 2 + 2 + 1 + 32 + 6 + 6 + LINE_BITS + LANES + 4 + 8 + 9 * LINE_BYTES;
  localparam int LEVEL_BITS = $clog2(ACCESS_QUEUE + 1);
  logic [Q_BITS-1:0]          emitted, head;
  logic                       queue_ready;
  logic [LANES*LINE_LOG2-1:0] offsets;
  assign core_req_ready_o = takes_ready && alloc_ready;
  ws_l1_coalescer #(
      .LINE_BITS(LINE_BITS), .LINE_LOG2(LINE_LOG2), .BY_SECTOR(0)
  ) coalescer (
      .clk_i, .rst_ni, .emit_ready_i(queue_ready), .emit_valid_o(emits),
      .emit_kind_o(emitted[Q_BITS-1-:2]), .emit_space_o(emitted[Q_BITS-3-:2]),
      .emit_uncached_o(emitted[Q_BITS-5]), .emit_id_o(emitted[Q_BITS-6-:32]),
      .emit_warp_o(emitted[Q_BITS-38-:6]), .emit_slot_o(emitted[Q_BITS-44-:6]),
      .emit_line_o(emitted[9*LINE_BYTES+12+LANES+:LINE_BITS]), .emit_lanes_o(emitted[9*LINE_BYTES+12+:LANES]),
      .emit_sectors_o(emitted[9*LINE_BYTES+8+:4]), .emit_function_o(emitted[9*LINE_BYTES+4+:4]),
      .emit_type_o(emitted[9*LINE_BYTES+:4]), .emit_byte_mask_o(emitted[8*LINE_BYTES+:LINE_BYTES]),
      .emit_data_o(emitted[0+:8*LINE_BYTES]),
      .take_ready_o(takes_ready), .take_valid_i(core_req_valid_i && alloc_ready), .take_kind_i(core_req_kind_i),
      .take_space_i(core_req_space_i), .take_uncached_i(core_req_uncached_i), .take_warp_i(core_req_warp_i),
      .take_slot_i(alloc_slot), .take_size_log2_i(core_req_size_log2_i), .take_mask_i(core_req_mask_i),
      .take_function_i(core_req_function_i), .take_type_i(core_req_type_i), .take_address_i(core_req_address_i),
      .take_data_i(core_req_data_i), .take_compare_i(core_req_compare_i)
  );
  for (genvar l = 0; l < LANES; l++) begin : g_offset
    assign offsets[l*LINE_LOG2+:LINE_LOG2] = core_req_address_i[l*ADDR_BITS+:LINE_LOG2];
  end
  ws_l1_pending #(
      .ROWS(SLOTS), .LINE_LOG2(LINE_LOG2), .PC_BITS(PC_BITS), .PUTS(3)
  ) pending (
      .clk_i, .rst_ni,
      .reply_ready_i(core_rsp_ready_i), .reply_valid_o(core_rsp_valid_o), .reply_kind_o(core_rsp_kind_o),
      .reply_warp_o(core_rsp_warp_o), .reply_pc_o(core_rsp_pc_o), .reply_beat_o(core_rsp_beat_o),
      .reply_size_log2_o(core_rsp_size_log2_o), .reply_mask_o(core_rsp_mask_o), .reply_data_o(core_rsp_data_o),
      .put_valid_i({accepts && (is_load ? present : modifies), pops, puts}),
      .put_slot_i({head_slot, pop_slot, mem_rsp_ticket_i[LANES+:6]}),
      .put_lanes_i({head_lanes, pop_lanes, mem_rsp_ticket_i[LANES-1:0]}),
      .put_line_i({acc_line, pop_line, mem_rsp_data_i}),
      .alloc_ready_o(alloc_ready), .alloc_slot_o(alloc_slot), .alloc_valid_i(core_req_valid_i && takes_ready),
      .alloc_kind_i(core_req_kind_i), .alloc_warp_i(core_req_warp_i), .alloc_pc_i(core_req_pc_i),
      .alloc_beat_i(core_req_beat_i), .alloc_size_log2_i(core_req_size_log2_i), .alloc_mask_i(core_req_mask_i),
      .alloc_offset_i(offsets)
  );

  // Access queue. The oldest request is always in slot 0, and a free slot holds the value EMPTY.
  if (1) begin : queue
    localparam logic [Q_BITS-1:0] EMPTY = Q_BITS'(NO_ATOMIC) << 9 * LINE_BYTES;
    logic [Q_BITS-1:0]     slot_q [ACCESS_QUEUE];
    logic [LEVEL_BITS-1:0] level_q;
    wire  [LEVEL_BITS-1:0] level_4 = level_q - LEVEL_BITS'(leaves);
    wire                   pushes = emits && queue_ready;
    assign queue_ready = level_q != LEVEL_BITS'(ACCESS_QUEUE);
    assign has_head = level_q != 0;
    assign head = slot_q[0];
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) level_q <= '0;
      else level_q <= level_4 + LEVEL_BITS'(pushes);
    for (genvar s = 0; s < ACCESS_QUEUE; s++) begin : g_slot
      wire [Q_BITS-1:0] behind;
      if (s + 1 < ACCESS_QUEUE) assign behind = slot_q[s+1];
      else assign behind = EMPTY;
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) slot_q[s] <= EMPTY;
        else if (pushes && level_4 == LEVEL_BITS'(s)) slot_q[s] <= emitted;
        else if (leaves) slot_q[s] <= behind;
    end
  end
  assign {head_kind, head_space, head_uncached, head_id, head_warp, head_slot, head_line, head_lanes} =
      head[Q_BITS-1:12+9*LINE_BYTES];
  assign {head_sectors, head_atomic, head_byte_mask, head_data} = head[11+9*LINE_BYTES:0];

  // The tags need neither the warp nor the sectors of a request, and replies are matched by their tickets.
  wire unused = &{1'b0, head_warp, head_sectors, mem_rsp_id_i, mem_rsp_sm_i, mem_rsp_sectors_i};
endmodule
