// SPDX-License-Identifier: MIT OR Apache-2.0
// # L2 bank with a Fetch and Replacement Cache
// One slice of a write-back L2 cache, with the replacement flow of candel2018: a missing line is fetched into
// a small cache (FRC) next to the bank and then swapped with the line that it replaces, which is written to
// memory from there. If the FRC has no room, the victim leaves its way before the new line is fetched.
//
// In one cycle, in this order; later steps see the results of earlier ones:
// 1. `rsp`: the oldest reply is sent.
// 2. A swap ends: the lines of an FRC entry and of a way are exchanged. As long as a swap lasts, steps 3 to 5
//    do nothing.
// 3. `dram_rsp`: a burst is written to the place that is reserved for its line.
// 4. The oldest access that waits for a complete line is served, if there is room for its reply, and, for a
//    write, no burst uses the port of the memory.
// 5. Otherwise, a request whose lookup is over is served, stalls, or moves to the pending queue.
// 6. A swap is chosen.
// 7. `dram_req`: a burst of the oldest job is sent. A fetch asks for all bursts of its line; a write sends them.
// 8. A pending request that may be served now begins its lookup. If there is none, `req`: a new request does.
//
// | port       | contract                                                                                     |
// |------------|----------------------------------------------------------------------------------------------|
// | `req`      | a request of an SM: {kind, id, line, sm, partition, ticket, function, type, sectors, byte_mask, data} |
// | `rsp`      | {kind, id, line, sm, ticket, sectors, data}; an acknowledgment has neither sectors nor data  |
// | `dram_req` | {write, id, burst, tag, byte_mask, data}; the bytes above BURST_BYTES are 0                  |
// | `dram_rsp` | {id, burst, tag, data}: a burst that was fetched; bursts of a line may arrive in any order   |
//
// A transfer takes place in a cycle with `valid` and `ready`. `valid` does not depend on `ready`. The first
// field of a word is the highest.
// Kinds of a request: 0 read, 1 write, 2 atomic, 3 reduction, an atomic whose reply is only an acknowledgment.
// A reply is of kind 0 with data (read: the line; atomic: the line before it), or 1, an acknowledgment (write,
// reduction: their place in the order of accesses to the line is fixed). Function and type of an atomic are
// those of ws_cells_atomic.
//
// Latency: a request that is accepted in cycle c is looked up in c + LATENCY. The reply of a hit can be sent in
// the next cycle.
//
// Not part of the module, and of no machine in which it takes the place of the Rust block: lines shorter than
// the L1s', sectors, bypassing, way partitioning, prefetches, MSHR policies, atomic buffer, recalls of lines
// from L1s, evictions that memory acknowledges, several DRAM channels, replacement other than LRU, an index
// other than the low bits of the line, floating-point sums, which its checker reports. A read is served from a
// line that is being evicted.
//
// The line number within the bank is the line divided by PARTITIONS.
// A row of `tags` has {tag, state} of all ways, way 0 in the lowest bits. A row of `recency` has the ways in
// the order of their last use. With 4 bits per way, the most recent one is lowest, otherwise highest.
// `data` and `mshr.waiters` have one row per line and per waiter.
module ws_l2_bank #(
    parameter int SETS = 64,
    parameter int WAYS = 16,
    parameter int LINE_BYTES = 128,
    parameter int LATENCY = 4,
    parameter int ENTRIES = 32,
    parameter int MERGES = 4,
    parameter int REPLIES = 8,
    parameter int PENDING = 32,
    parameter int FRC_SETS = 8,
    parameter int FRC_WAYS = 8,
    parameter int SWAP_LATENCY = 1,
    parameter int BURST_BYTES = 64,
    parameter int PARTITIONS = 6,
    parameter int LINE_BITS = 25,
    parameter int SM_BITS = 4,
    parameter int PARTITION_BITS = 3,
    localparam int LINE = LINE_BYTES * 8,
    localparam int BURSTS = LINE_BYTES / BURST_BYTES,
    localparam int B_BITS = $clog2(BURSTS),
    localparam int NUM = PARTITIONS < 1 ? 1 : PARTITIONS,
    localparam int LOCAL_BITS = $clog2((2 ** LINE_BITS - 1) / NUM + 1),
    localparam int BURST_BITS = LOCAL_BITS + B_BITS
) (
    input  logic                      clk_i,
    input  logic                      rst_ni,

    input  logic                      req_valid_i,
    output logic                      req_ready_o,
    input  logic [1:0]                req_kind_i,
    input  logic [31:0]               req_id_i,
    input  logic [LINE_BITS-1:0]      req_line_i,
    input  logic [SM_BITS-1:0]        req_sm_i,
    input  logic [PARTITION_BITS-1:0] req_partition_i,
    input  logic [47:0]               req_ticket_i,
    input  logic [3:0]                req_function_i,
    input  logic [3:0]                req_type_i,
    input  logic [3:0]                req_sectors_i,
    input  logic [LINE_BYTES-1:0]     req_byte_mask_i,
    input  logic [LINE-1:0]           req_data_i,

    output logic                      rsp_valid_o,
    input  logic                      rsp_ready_i,
    output logic                      rsp_kind_o,
    output logic [31:0]               rsp_id_o,
    output logic [LINE_BITS-1:0]      rsp_line_o,
    output logic [SM_BITS-1:0]        rsp_sm_o,
    output logic [47:0]               rsp_ticket_o,
    output logic [3:0]                rsp_sectors_o,
    output logic [LINE-1:0]           rsp_data_o,

    output logic                      dram_req_valid_o,
    input  logic                      dram_req_ready_i,
    output logic                      dram_req_write_o,
    output logic [31:0]               dram_req_id_o,
    output logic [BURST_BITS-1:0]     dram_req_burst_o,
    output logic [15:0]               dram_req_tag_o,
    output logic [63:0]               dram_req_byte_mask_o,
    output logic [511:0]              dram_req_data_o,

    input  logic                      dram_rsp_valid_i,
    output logic                      dram_rsp_ready_o,
    input  logic [31:0]               dram_rsp_id_i,
    input  logic [BURST_BITS-1:0]     dram_rsp_burst_i,
    input  logic [15:0]               dram_rsp_tag_i,
    input  logic [511:0]              dram_rsp_data_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1 || (SETS & (SETS - 1)) != 0) begin : g_refuse_sets
    $error("SETS is %0d, expected a power of two", SETS);
  end
  if (WAYS < 1 || WAYS > 16) begin : g_refuse_ways
    $error("WAYS is %0d, expected 1 to 16", WAYS);
  end
  if (LINE_BYTES < 32 || LINE_BYTES > 128 || (LINE_BYTES & (LINE_BYTES - 1)) != 0) begin : g_refuse_line_bytes
    $error("LINE_BYTES is %0d, expected 32, 64 or 128", LINE_BYTES);
  end
  if (LATENCY < 1) begin : g_refuse_latency
    $error("LATENCY is %0d, expected 1 or more", LATENCY);
  end
  if (ENTRIES < 1) begin : g_refuse_entries
    $error("ENTRIES is %0d, expected 1 or more", ENTRIES);
  end
  if (MERGES < 1) begin : g_refuse_merges
    $error("MERGES is %0d, expected 1 or more", MERGES);
  end
  if (REPLIES < 1) begin : g_refuse_replies
    $error("REPLIES is %0d, expected 1 or more", REPLIES);
  end
  if (PENDING < 1) begin : g_refuse_pending
    $error("PENDING is %0d, expected 1 or more", PENDING);
  end
  if (FRC_SETS < 1 || SETS % FRC_SETS != 0) begin : g_refuse_frc_sets
    $error("FRC_SETS is %0d, expected a divisor of SETS", FRC_SETS);
  end
  if (FRC_WAYS < 1) begin : g_refuse_frc_ways
    $error("FRC_WAYS is %0d, expected 1 or more", FRC_WAYS);
  end
  if (SWAP_LATENCY < 1 || SWAP_LATENCY > 63) begin : g_refuse_swap_latency
    $error("SWAP_LATENCY is %0d, expected 1 to 63", SWAP_LATENCY);
  end
  if (BURST_BYTES < 16 || BURST_BYTES > 64 || LINE_BYTES < 2 * BURST_BYTES || (BURST_BYTES & (BURST_BYTES - 1)) != 0) begin : g_refuse_burst_bytes
    $error("BURST_BYTES is %0d, expected 16, 32 or 64, and two bursts or more per line", BURST_BYTES);
  end
  if (PARTITIONS < 1) begin : g_refuse_partitions
    $error("PARTITIONS is %0d, expected 1 or more", PARTITIONS);
  end
  if (LINE_BITS < 1 || LINE_BITS > 30) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 to 30", LINE_BITS);
  end
  if (SM_BITS < 1) begin : g_refuse_sm_bits
    $error("SM_BITS is %0d, expected 1 or more", SM_BITS);
  end
  if (PARTITION_BITS < 1) begin : g_refuse_partition_bits
    $error("PARTITION_BITS is %0d, expected 1 or more", PARTITION_BITS);
  end
`endif

  // Words of the queues, with the first field highest: a request {kind, id, line, sm, partition, TAIL}, a waiter
  // {kind, id, sm, TAIL}, a reply {kind, id, line, sm, ticket, sectors, data}. TAIL is {ticket, function, type,
  // sectors, byte_mask, data}.
  localparam int TAIL = 60 + LINE_BYTES + LINE;
  localparam int REQUEST = 34 + LINE_BITS + SM_BITS + PARTITION_BITS + TAIL;
  localparam int REPLY = 33 + LINE_BITS + SM_BITS + 52 + LINE;
  // Number of an MSHR entry and of an FRC entry. An eviction has the number of the MSHR entry whose line takes
  // the way, or ENTRIES plus the number of the FRC entry that holds the old line.
  localparam int FRC = FRC_SETS * FRC_WAYS;
  localparam int JOBS = ENTRIES + FRC;
  localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES);
  localparam int F_BITS = FRC < 2 ? 1 : $clog2(FRC);
  localparam int J_BITS = $clog2(JOBS);
  localparam int I_BITS = $clog2(SETS);
  localparam int S_BITS = SETS < 2 ? 1 : I_BITS;
  localparam int TAG_BITS = LOCAL_BITS > I_BITS ? LOCAL_BITS - I_BITS : 1;
  localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS);
  localparam int FW_BITS = FRC_WAYS < 2 ? 1 : $clog2(FRC_WAYS);
  // A place is a way of a set, or, from WAYS on, a way of the FRC.
  localparam int P_BITS = $clog2(WAYS + FRC_WAYS);
  localparam int C_BITS = $clog2(MERGES + 1);
  localparam int T_BITS = LATENCY < 2 ? 1 : $clog2(LATENCY);
  localparam int CELL = TAG_BITS + 3;
  localparam int D_BITS = SETS * WAYS < 2 ? 1 : $clog2(SETS * WAYS);
  localparam int WAITER = 34 + SM_BITS + TAIL;
  localparam int JOB = 33 + J_BITS;

  localparam logic [1:0] READ = 0, WRITE = 1;
  localparam logic [2:0] INVALID = 0, RESERVED = 1, VALID = 2, MODIFIED = 3, WRITING_BACK = 5;
  localparam logic [1:0] FRC_ALLOCATE = 1, FRC_FILL = 2, FRC_WRITE = 3;
  localparam logic [2:0] FRC_FILLED = 2;
  // Free slots: type 2 (unsigned 32-bit word), and all sectors of a request and of a reply.
  localparam logic [REQUEST-1:0] NO_REQUEST = REQUEST'({4'd2, 4'hf}) << LINE_BYTES + LINE;
  localparam logic [WAITER-1:0] NO_WAITER = WAITER'(2) << LINE_BYTES + LINE + 4;
  localparam logic [REPLY-1:0] NO_REPLY = REPLY'(4'hf) << LINE;

  // Row of `recency` after reset: the ways in ascending order. With 4 bits per way, the most recent way is lowest.
  localparam bit UP = W_BITS == 4;
  localparam logic [63:0] IN_ORDER = UP ? 64'hfedcba9876543210 : W_BITS == 3 ? 64'o01234567 >> 3 * (8 - WAYS) :
                                     W_BITS == 2 ? 64'b00011011 >> 2 * (4 - WAYS) : 64'b01 >> 2 - WAYS;

  // Request in step 5: the one of the pending queue whose lookup is over, otherwise the oldest new one.
  logic               again, is_due, holds_line, holds_set, has_place, is_awake;
  logic [REQUEST-1:0] again_request, new_request, request;
  logic               room, serves, defers;
  assign request = again ? again_request : new_request;
  wire [1:0]           kind = request[REQUEST-1-:2];
  wire [31:0]          id = request[REQUEST-3-:32];
  wire [LINE_BITS-1:0] line = request[TAIL+PARTITION_BITS+SM_BITS+:LINE_BITS];
  wire [SM_BITS-1:0]   sm = request[TAIL+PARTITION_BITS+:SM_BITS];
  wire [LOCAL_BITS-1:0] local_line = LOCAL_BITS'(32'(line) / NUM);
  wire [S_BITS-1:0]    set = S_BITS'(32'(local_line) % SETS);
  wire [TAG_BITS-1:0]  tag = TAG_BITS'(local_line >> I_BITS);

  // Step 1: the oldest reply.
  logic             answers;
  logic [REPLY-1:0] answer;
  if (1) begin : replies
    localparam int LEVEL_BITS = $clog2(REPLIES + 1);
    logic [LEVEL_BITS-1:0] level_q;
    logic [REPLY-1:0]      slot_q [REPLIES];
    wire                   pop = rsp_valid_o && rsp_ready_i;
    wire  [LEVEL_BITS-1:0] level_1 = level_q - LEVEL_BITS'(pop);
    assign rsp_valid_o = level_q != 0;
    assign {rsp_kind_o, rsp_id_o, rsp_line_o, rsp_sm_o, rsp_ticket_o, rsp_sectors_o, rsp_data_o} = slot_q[0];
    assign room = 32'(level_1) < REPLIES;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) level_q <= '0;
      else level_q <= level_1 + LEVEL_BITS'(answers);
    for (genvar i = 0; i < REPLIES; i++) begin : g_slot
      wire [REPLY-1:0] behind;
      if (i + 1 < REPLIES) assign behind = slot_q[i+1];
      else assign behind = NO_REPLY;
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) slot_q[i] <= NO_REPLY;
        else if (answers && level_1 == LEVEL_BITS'(i)) slot_q[i] <= answer;
        else if (pop) slot_q[i] <= behind;
    end
  end

  // Step 2: the end of a swap.
  logic              swap_valid_q;
  logic [F_BITS-1:0] swap_entry_q;
  logic [W_BITS-1:0] swap_way_q;
  logic [5:0]        swap_left_q;
  wire               exchanges = swap_valid_q && swap_left_q == 0;
  logic [S_BITS-1:0] exc_set;

  // Steps 3 and 4: a burst arrives, and a waiter of the line that was complete first is served. A line is
  // complete, and its first waiter is served, in the cycle in which its last burst arrives.
  assign dram_rsp_ready_o = !swap_valid_q;
  wire               fills = dram_rsp_valid_i && dram_rsp_ready_o;
  wire [E_BITS-1:0]  fill_entry = E_BITS'(dram_rsp_tag_i >> B_BITS);
  wire [B_BITS-1:0]  fill_burst = dram_rsp_tag_i[B_BITS-1:0];
  wire               can_write = !fills;
  logic              is_coming, has_merge, has_entry;
  logic [E_BITS-1:0] coming_entry, free_entry, wait_entry, new_entry, job_entry;
  logic [S_BITS-1:0] fill_set, wait_set, job_set;
  logic [P_BITS-1:0] fill_place, wait_place, coming_place, job_place, new_place;
  logic [LINE_BITS-1:0] wait_line, job_line;
  logic [WAITER-1:0] waiter;
  logic              has_waiter, is_last_waiter, is_dirty, allocates, merges;
  wire  [1:0]        waiter_kind = waiter[WAITER-1-:2];
  wire               waits = !swap_valid_q && has_waiter && (waiter_kind == READ || can_write)
                             && (waiter_kind[0] || room);
  wire               finishes = waits && is_last_waiter;
  if (1) begin : mshr
    logic [ENTRIES-1:0]   used_q, dirty_q;
    logic [LINE_BITS-1:0] line_q    [ENTRIES];
    logic [S_BITS-1:0]    set_q     [ENTRIES];
    logic [P_BITS-1:0]    way_q     [ENTRIES];
    logic [BURSTS-1:0]    arrived_q [ENTRIES];
    logic [C_BITS-1:0]    count_q   [ENTRIES];
    logic [C_BITS-1:0]    served_q  [ENTRIES];

    always_comb begin
      is_coming = 0;
      coming_entry = '0;
      has_entry = 0;
      free_entry = '0;
      for (int e = ENTRIES - 1; e >= 0; e--) begin
        if (used_q[e] && line_q[e] == line) begin
          is_coming = 1;
          coming_entry |= E_BITS'(e);
        end
        if (!used_q[e]) begin
          has_entry = 1;
          free_entry = E_BITS'(e);
        end
      end
    end
    assign has_merge = count_q[coming_entry] < C_BITS'(MERGES);
    assign coming_place = way_q[coming_entry];
    assign fill_set = set_q[fill_entry];
    assign fill_place = way_q[fill_entry];
    wire completes = fills && (arrived_q[fill_entry] | BURSTS'(1) << fill_burst) == '1;

    // Entries whose lines are complete, oldest first.
    if (1) begin : ready
      localparam int LEVEL_BITS = $clog2(ENTRIES + 1);
      logic [LEVEL_BITS-1:0] level_q;
      logic [E_BITS-1:0]     slot_q [ENTRIES];
      wire  [LEVEL_BITS-1:0] level_1 = level_q + LEVEL_BITS'(completes);
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) level_q <= '0;
        else level_q <= level_1 - LEVEL_BITS'(finishes);
      logic [E_BITS-1:0] slot_1 [ENTRIES+1];
      for (genvar i = 0; i < ENTRIES; i++) begin : g_slot
        assign slot_1[i] = completes && level_q == LEVEL_BITS'(i) ? fill_entry : slot_q[i];
        always_ff @(posedge clk_i or negedge rst_ni)
          if (!rst_ni) slot_q[i] <= '0;
          else slot_q[i] <= finishes ? slot_1[i+1] : slot_1[i];
      end
      assign slot_1[ENTRIES] = '0;
    end
    assign has_waiter = ready.level_1 != 0;
    assign wait_entry = ready.slot_1[0];
    assign wait_set = set_q[wait_entry];
    assign wait_place = way_q[wait_entry];
    assign wait_line = line_q[wait_entry];
    assign is_last_waiter = served_q[wait_entry] + 1'b1 == count_q[wait_entry];
    assign is_dirty = dirty_q[wait_entry] || waiter_kind != READ;

    // An allocation of this cycle, and the entry to which a job belongs.
    assign new_entry = allocates ? free_entry : coming_entry;
    wire is_new = allocates && job_entry == free_entry;
    assign job_line = is_new ? line : line_q[job_entry];
    assign job_set = is_new ? set : set_q[job_entry];
    assign job_place = is_new ? new_place : way_q[job_entry];

    localparam int R_BITS = ENTRIES * MERGES < 2 ? 1 : $clog2(ENTRIES * MERGES);
    logic [WAITER-1:0] unused_1, unused_2;
    ws_cells_register_file #(
        .ROWS(ENTRIES * MERGES), .WIDTH(WAITER), .GRAIN(WAITER), .INITIAL(NO_WAITER)
    ) waiters (
        .clk_i, .rst_ni,
        .read_0_row_i(R_BITS'(32'(wait_entry) * MERGES + 32'(served_q[wait_entry]))), .read_0_word_o(waiter),
        .read_1_row_i(R_BITS'(0)), .read_1_word_o(unused_1), .read_2_row_i(R_BITS'(0)), .read_2_word_o(unused_2),
        .write_0_valid_i(allocates || merges),
        .write_0_row_i(R_BITS'(32'(new_entry) * MERGES + (allocates ? 0 : 32'(count_q[coming_entry])))),
        .write_0_mask_i(1'b1), .write_0_word_i({kind, id, sm, request[TAIL-1:0]}),
        .write_1_valid_i(1'b0), .write_1_row_i(R_BITS'(0)), .write_1_mask_i(1'b0), .write_1_word_i(WAITER'(0))
    );

    for (genvar e = 0; e < ENTRIES; e++) begin : g_entry
      wire takes = allocates && free_entry == E_BITS'(e);
      wire joins = merges && coming_entry == E_BITS'(e);
      wire arrives = fills && fill_entry == E_BITS'(e);
      wire leaves = waits && wait_entry == E_BITS'(e);
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) begin
          {used_q[e], line_q[e], set_q[e], way_q[e], arrived_q[e], count_q[e], served_q[e], dirty_q[e]} <= '0;
        end else if (leaves && is_last_waiter) begin
          {used_q[e], line_q[e], set_q[e], way_q[e], arrived_q[e], count_q[e], served_q[e], dirty_q[e]} <= '0;
        end else begin
          if (takes) begin
            used_q[e] <= 1;
            line_q[e] <= line;
            set_q[e] <= set;
            way_q[e] <= new_place;
          end
          if (takes || joins) count_q[e] <= count_q[e] + 1'b1;
          if (arrives) arrived_q[e] <= arrived_q[e] | BURSTS'(1) << fill_burst;
          if (leaves) begin
            served_q[e] <= served_q[e] + 1'b1;
            dirty_q[e] <= is_dirty;
          end
        end
    end
  end

  // Step 5: the lookup searches the lines in flight, the FRC and the tags of the set.
  logic               frc_hit, frc_free;
  logic [FW_BITS-1:0] frc_way, frc_free_way;
  logic [2:0]         frc_state;
  logic [WAYS*CELL-1:0] tags_0, tags_1, tags_2;
  logic               hit;
  logic [W_BITS-1:0]  hit_way;
  logic [2:0]         hit_state;
  always_comb begin
    hit = 0;
    hit_way = '0;
    hit_state = '0;
    for (int w = 0; w < WAYS; w++)
      if (tags_0[w*CELL+:3] != INVALID && tags_0[w*CELL+3+:TAG_BITS] == tag) begin
        hit = 1;
        hit_way |= W_BITS'(w);
        hit_state |= tags_0[w*CELL+:3];
      end
  end
  wire looks = !swap_valid_q && !waits && (again || is_due);
  wire is_behind = !again && holds_line;
  wire writes = kind != READ;
  wire acks = kind[0];
  wire in_frc = !is_coming && frc_hit;
  wire in_way = !is_coming && !frc_hit && hit;
  wire nowhere = !is_coming && !frc_hit && !hit;
  wire is_here = in_frc && frc_state == FRC_FILLED || in_way && (hit_state == VALID || hit_state == MODIFIED);
  wire is_leaving = (in_frc || in_way) && !is_here;
  wire victim;
  wire [W_BITS-1:0] victim_way;
  logic stalls;
  always_comb begin
    stalls = 0;
    defers = is_behind;
    if (!is_behind) begin
      if (is_coming) stalls = !has_merge || acks && !room;
      else if (is_here) stalls = !room || writes && !can_write;
      else if (is_leaving && writes) defers = 1;
      else if (is_leaving) stalls = !room;
      else if (!again && holds_set) defers = 1;
      else if (acks && !room || !has_entry) stalls = 1;
      else defers = !frc_free && !victim;
    end
    if (defers && !again && !has_place) stalls = 1;
    if (!looks || stalls) defers = 0;
    serves = looks && !stalls && !defers;
  end
  assign merges = serves && is_coming;
  assign allocates = serves && nowhere;
  wire to_frc = allocates && frc_free;
  wire evicts = allocates && !frc_free;
  assign new_place = frc_free ? P_BITS'(WAYS) + P_BITS'(frc_free_way) : P_BITS'(victim_way);

  // Access of steps 4 and 5 to the bytes of a line. A waiter sees the burst of this cycle.
  wire                 performs = waits || serves && (is_here || is_leaving);
  wire [TAIL-1:0]      acc_tail = waits ? waiter[TAIL-1:0] : request[TAIL-1:0];
  wire [1:0]           acc_kind = waits ? waiter_kind : kind;
  wire [S_BITS-1:0]    acc_set = exchanges ? exc_set : waits ? wait_set : set;
  wire [P_BITS-1:0]    acc_place = waits ? wait_place : in_frc ? P_BITS'(WAYS) + P_BITS'(frc_way) : P_BITS'(hit_way);
  wire                 acc_in_frc = 32'(acc_place) >= WAYS;
  wire [W_BITS-1:0]    acc_way = exchanges ? swap_way_q : evicts ? victim_way : W_BITS'(acc_place);
  wire                 changes = performs && acc_kind != READ;
  wire [LINE_BYTES-1:0] acc_mask = acc_tail[LINE+:LINE_BYTES];
  wire [LINE-1:0]      burst_line = {BURSTS{dram_rsp_data_i[BURST_BYTES*8-1:0]}};
  wire [LINE_BYTES-1:0] burst_mask = {{LINE_BYTES - BURST_BYTES{1'b0}}, {BURST_BYTES{1'b1}}} << 32'(fill_burst) * BURST_BYTES;
  wire                 fill_in_frc = 32'(fill_place) >= WAYS;
  wire                 fills_line = fills && waits && fill_entry == wait_entry;
  logic [LINE-1:0]     way_line, out_way_line, frc_line, frc_new_line, frc_out_line, old_line, atomic_line;
  for (genvar b = 0; b < LINE_BYTES; b++) begin : g_old
    assign old_line[b*8+:8] = fills_line && burst_mask[b] ? burst_line[b*8+:8] :
                              acc_in_frc ? frc_line[b*8+:8] : way_line[b*8+:8];
  end
  logic unused_changed;
  ws_cells_atomic #(.LINE_BYTES(LINE_BYTES)) atomic (
      .f_i(acc_tail[LINE+LINE_BYTES+8+:4]), .ty_i(acc_tail[LINE+LINE_BYTES+4+:4]), .line_i(old_line),
      .byte_mask_i(acc_mask), .operands_i(acc_tail[LINE-1:0]), .line_next_o(atomic_line), .changed_o(unused_changed)
  );
  wire [LINE_BYTES-1:0] put_mask = fills ? burst_mask : acc_mask;
  wire [LINE-1:0]       put_line = fills ? burst_line : acc_kind == WRITE ? acc_tail[LINE-1:0] : atomic_line;

  // Reply: with the line before the access, or an acknowledgment of a request that was served or merged.
  always_comb begin
    answers = performs && !acc_kind[0] || serves && acks;
    answer = {1'b0, id, line, sm, acc_tail[TAIL-1-:48], acc_tail[LINE+LINE_BYTES+:4], old_line};
    if (waits) answer[52+LINE+:SM_BITS+LINE_BITS+32] = {waiter[WAITER-3-:32], wait_line, waiter[TAIL+:SM_BITS]};
    if (serves && acks) begin
      answer[REPLY-1] = 1;
      answer[LINE+3:0] = '0;
    end
  end

  // Writes of the tags: by the access or the exchange (0), and when the last burst of a victim is sent (1).
  logic               job_ends, job_write, job_of_frc;
  logic [J_BITS-1:0]  job_who;
  logic [TAG_BITS-1:0] exc_tag;
  logic               exc_wr_pend;
  wire [CELL-1:0]     acc_cell = tags_0[32'(acc_way)*CELL+:CELL];
  wire [2:0]          acc_state = acc_cell[2:0];
  logic               tag_write;
  logic [CELL-1:0]    tag_cell;
  always_comb begin
    tag_write = finishes && !acc_in_frc || serves && in_way && is_here && writes || evicts || exchanges;
    tag_cell = {acc_cell[CELL-1:3], MODIFIED};
    if (finishes && !is_dirty) tag_cell = {acc_cell[CELL-1:3], VALID};
    if (evicts) tag_cell = acc_state == MODIFIED ? {acc_cell[CELL-1:3], WRITING_BACK} : {tag, RESERVED};
    if (exchanges) tag_cell = {exc_tag, exc_wr_pend ? MODIFIED : VALID};
  end
  wire               job_way_ends = job_ends && !job_of_frc;
  wire [LOCAL_BITS-1:0] job_local = LOCAL_BITS'(32'(job_line) / NUM);
  wire [TAG_BITS-1:0] job_tag = TAG_BITS'(job_local >> I_BITS);
  wire [S_BITS-1:0]  to_swap_set;
  ws_cells_register_file #(
      .ROWS(SETS), .WIDTH(WAYS * CELL), .GRAIN(CELL)
  ) tags (
      .clk_i, .rst_ni,
      .read_0_row_i(acc_set), .read_0_word_o(tags_0), .read_1_row_i(to_swap_set), .read_1_word_o(tags_1),
      .read_2_row_i(job_set), .read_2_word_o(tags_2),
      .write_0_valid_i(tag_write), .write_0_row_i(acc_set), .write_0_mask_i(WAYS'(1) << acc_way),
      .write_0_word_i({WAYS{tag_cell}}),
      .write_1_valid_i(job_way_ends), .write_1_row_i(job_set), .write_1_mask_i(WAYS'(1) << job_place),
      .write_1_word_i({WAYS{job_tag, RESERVED}})
  );

  // Order of use: an access to a line in a way or on its way to one, and an exchange, make it the most recent.
  wire touches = serves && (in_way && is_here || is_coming && 32'(coming_place) < WAYS) || evicts || exchanges;
  wire [W_BITS-1:0] touch_way = merges ? W_BITS'(coming_place) : acc_way;
  wire sees_write = acc_set == to_swap_set;
  logic [WAYS*W_BITS-1:0] order_0, order_1, touched, unused_order;
  logic [W_BITS-1:0] used_0 [WAYS], used_1 [WAYS];
  for (genvar p = 0; p < WAYS; p++) begin : g_order
    localparam int AT = (UP ? p : WAYS - 1 - p) * W_BITS;
    logic [W_BITS-1:0] next;
    assign used_0[p] = order_0[AT+:W_BITS];
    if (p == 0) begin : g_first
      assign next = touch_way;
    end else begin : g_behind
      // The ways that were used after the one that is used now move.
      logic [p-1:0] same;
      for (genvar q = 0; q < p; q++) begin : g_same
        assign same[q] = used_0[q] == touch_way;
      end
      assign next = same != '0 ? used_0[p] : used_0[p-1];
    end
    assign touched[AT+:W_BITS] = next;
    assign used_1[p] = touches && sees_write ? next : order_1[AT+:W_BITS];
  end
  ws_cells_register_file #(
      .ROWS(SETS), .WIDTH(WAYS * W_BITS), .GRAIN(WAYS * W_BITS), .INITIAL(IN_ORDER[WAYS*W_BITS-1:0])
  ) recency (
      .clk_i, .rst_ni,
      .read_0_row_i(acc_set), .read_0_word_o(order_0), .read_1_row_i(to_swap_set), .read_1_word_o(order_1),
      .read_2_row_i(S_BITS'(0)), .read_2_word_o(unused_order),
      .write_0_valid_i(touches), .write_0_row_i(acc_set), .write_0_mask_i(1'b1), .write_0_word_i(touched),
      .write_1_valid_i(1'b0), .write_1_row_i(S_BITS'(0)), .write_1_mask_i(1'b0), .write_1_word_i((WAYS * W_BITS)'(0))
  );

  // Way for a new line: the lowest empty one, otherwise the one used longest ago that no eviction and no fetch
  // holds. Victim 0 is that of the lookup, and victim 1 that of the next swap, after the writes of this cycle.
  for (genvar v = 0; v < 2; v++) begin : g_victim
    logic [WAYS-1:0]   empty, may_go;
    logic              found;
    logic [W_BITS-1:0] way;
    logic [W_BITS-1:0] used [WAYS];
    for (genvar w = 0; w < WAYS; w++) begin : g_way
      wire       sees = v == 1 && tag_write && sees_write && acc_way == W_BITS'(w);
      wire [2:0] state = sees ? tag_cell[2:0] : v == 0 ? tags_0[w*CELL+:3] : tags_1[w*CELL+:3];
      assign used[w] = v == 0 ? used_0[w] : used_1[w];
      assign empty[w] = state == INVALID;
      assign may_go[w] = state == VALID || state == MODIFIED;
    end
    always_comb begin
      found = 0;
      way = '0;
      for (int p = 0; p < WAYS; p++)
        if (may_go[used[p]]) begin
          found = 1;
          way = used[p];
        end
      for (int w = WAYS - 1; w >= 0; w--)
        if (empty[w]) begin
          found = 1;
          way = W_BITS'(w);
        end
    end
  end
  assign victim = g_victim[0].found;
  assign victim_way = g_victim[0].way;

  wire [D_BITS-1:0] acc_row = D_BITS'(32'(acc_set) * WAYS + 32'(acc_way));
  wire [D_BITS-1:0] fill_row = D_BITS'(32'(fill_set) * WAYS + 32'(fill_place));
  wire [D_BITS-1:0] job_row = D_BITS'(32'(job_set) * WAYS + 32'(job_place));
  logic [LINE-1:0]  unused_line;
  ws_cells_register_file #(
      .ROWS(SETS * WAYS), .WIDTH(LINE), .RESETS(0)
  ) data (
      .clk_i, .rst_ni,
      .read_0_row_i(acc_row), .read_0_word_o(way_line), .read_1_row_i(job_row), .read_1_word_o(out_way_line),
      .read_2_row_i(D_BITS'(0)), .read_2_word_o(unused_line),
      .write_0_valid_i(fills && !fill_in_frc || changes && !acc_in_frc || exchanges),
      .write_0_row_i(fills ? fill_row : acc_row), .write_0_mask_i({LINE_BYTES{exchanges}} | put_mask),
      .write_0_word_i(exchanges ? frc_new_line : put_line),
      .write_1_valid_i(1'b0), .write_1_row_i(D_BITS'(0)), .write_1_mask_i(LINE_BYTES'(0)), .write_1_word_i(LINE'(0))
  );

  // Fetch and Replacement Cache.
  wire [F_BITS-1:0] acc_entry = F_BITS'(32'(acc_set) % FRC_SETS * FRC_WAYS + (to_frc ? 32'(frc_free_way) : 32'(acc_place) - WAYS));
  wire [F_BITS-1:0] fill_frc_entry = F_BITS'(32'(fill_set) % FRC_SETS * FRC_WAYS + 32'(fill_place) - WAYS);
  wire [F_BITS-1:0] job_frc_entry = F_BITS'(32'(job_who) - ENTRIES);
  wire              old_dirty = acc_state == MODIFIED;
  logic             to_swap_valid;
  logic [F_BITS-1:0] to_swap;
  logic [31:0]      exc_id;
  logic [S_BITS-1:0] out_set;
  logic [TAG_BITS-1:0] out_tag;
  wire              chooses = to_swap_valid && (!swap_valid_q || exchanges);
  wire              swaps = chooses && g_victim[1].found;
  logic             unused_to_swap_bound, unused_exc_sharers, unused_recall_sm;
  logic [W_BITS-1:0] unused_to_swap_way;
  logic [31:0]      unused_out_id;
  ws_l2_frc #(
      .SETS(FRC_SETS), .WAYS(FRC_WAYS), .BANK_SETS(SETS), .BANK_WAYS(WAYS), .TAG_BITS(TAG_BITS),
      .LINE_BYTES(LINE_BYTES), .L1S(1), .BINDS_EARLY(0)
  ) frc (
      .clk_i, .rst_ni, .ack_valid_i(1'b0), .ack_entry_i(F_BITS'(0)),
      .find_set_i(set), .find_tag_i(tag), .find_hit_o(frc_hit), .find_way_o(frc_way), .find_state_o(frc_state),
      .free_valid_o(frc_free), .free_way_o(frc_free_way),
      .acc_op_i(to_frc ? FRC_ALLOCATE : finishes && acc_in_frc ? FRC_FILL
                : serves && in_frc && is_here && writes ? FRC_WRITE : 2'd0),
      .acc_entry_i(acc_entry), .acc_copies_i(1'b0), .acc_sm_i(1'b0), .acc_dirty_i(is_dirty), .acc_bound_i(1'b0),
      .acc_way_i(W_BITS'(0)), .acc_id_i(id),
      .put_valid_i(fills && fill_in_frc || changes && acc_in_frc), .put_entry_i(fills ? fill_frc_entry : acc_entry),
      .put_mask_i(put_mask), .put_line_i(put_line), .get_entry_i(acc_entry), .get_line_o(frc_line),
      .turn_i(swaps ? 2'd1 : chooses ? 2'd2 : 2'd0), .to_swap_valid_o(to_swap_valid), .to_swap_o(to_swap),
      .to_swap_set_o(to_swap_set), .to_swap_bound_o(unused_to_swap_bound), .to_swap_way_o(unused_to_swap_way),
      .exc_valid_i(exchanges), .exc_entry_i(swap_entry_q),
      .old_here_i(acc_state == VALID || acc_state == MODIFIED), .old_tag_i(acc_cell[CELL-1:3]),
      .old_dirty_i(old_dirty), .old_sharers_i(1'b0), .old_line_i(way_line),
      .exc_tag_o(exc_tag), .exc_set_o(exc_set), .exc_id_o(exc_id), .exc_wr_pend_o(exc_wr_pend), .exc_sharers_o(unused_exc_sharers),
      .exc_line_o(frc_new_line),
      .gone_i(FRC'(job_ends && job_of_frc) << job_frc_entry), .out_entry_i(job_frc_entry), .out_line_o(frc_out_line),
      .out_set_o(out_set), .out_tag_o(out_tag), .out_id_o(unused_out_id),
      .recall_valid_i(1'b0), .recall_entry_i(F_BITS'(0)), .recall_sm_o(unused_recall_sm)
  );

  // Step 6: a swap is chosen. An entry for which there is no way moves behind the other entries.
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) {swap_valid_q, swap_entry_q, swap_way_q, swap_left_q} <= '0;
    else if (swaps) {swap_valid_q, swap_entry_q, swap_way_q, swap_left_q} <= {1'b1, to_swap, g_victim[1].way, 6'(SWAP_LATENCY - 1)};
    else if (exchanges) {swap_valid_q, swap_entry_q, swap_way_q, swap_left_q} <= '0;
    else if (swap_valid_q) swap_left_q <= swap_left_q - 1'b1;

  // Step 7: jobs {write, number, id} for memory. One is added by the access or the exchange. Another one, the
  // fetch of the new line of a way, is added when the last burst of its old line is sent.
  if (1) begin : evictions
    logic [ENTRIES-1:0] dirty_q;
    logic [31:0]        id_q [ENTRIES];
    wire unused = &{1'b0, dirty_q};
    for (genvar e = 0; e < ENTRIES; e++) begin : g_way
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {dirty_q[e], id_q[e]} <= '0;
        else if (evicts && free_entry == E_BITS'(e)) {dirty_q[e], id_q[e]} <= {old_dirty, id};
        else if (job_way_ends && job_entry == E_BITS'(e)) dirty_q[e] <= 0;
    end

    if (1) begin : jobs
      localparam int LEVEL_BITS = $clog2(JOBS + 1);
      logic [LEVEL_BITS-1:0] level_q;
      logic [B_BITS-1:0]     sent_q;
      logic [JOB-1:0]        slot_q [JOBS];
      logic [JOB-1:0]        slot_1 [JOBS+1];
      wire                   adds = allocates || exchanges && old_dirty;
      wire [JOB-1:0]         added = exchanges ? {1'b1, J_BITS'(ENTRIES + 32'(swap_entry_q)), exc_id} :
                                     {evicts && old_dirty, J_BITS'(free_entry), id};
      wire [LEVEL_BITS-1:0]  level_1 = level_q + LEVEL_BITS'(adds);
      wire                   sends = dram_req_valid_o && dram_req_ready_i;
      wire                   is_last = sends && sent_q == '1;
      wire [LEVEL_BITS-1:0]  level_2 = level_1 - LEVEL_BITS'(is_last);
      assign dram_req_valid_o = level_1 != 0;
      assign {job_write, job_who} = slot_1[0][JOB-1:32];
      assign job_of_frc = job_write && 32'(job_who) >= ENTRIES;
      assign job_entry = E_BITS'(job_who);
      assign job_ends = is_last && job_write;

      wire [TAG_BITS-1:0]   old_tag = job_of_frc ? out_tag : tags_2[32'(job_place)*CELL+3+:TAG_BITS];
      wire [S_BITS-1:0]     old_set = job_of_frc ? out_set : job_set;
      wire [LOCAL_BITS-1:0] old_local = LOCAL_BITS'(old_tag) << I_BITS | LOCAL_BITS'(old_set);
      wire [LINE-1:0]       out_line = job_of_frc ? frc_out_line : out_way_line;
      wire [BURST_BYTES*8-1:0] out_burst = job_write ? out_line[32'(sent_q)*BURST_BYTES*8+:BURST_BYTES*8] : '0;
      assign dram_req_write_o = job_write;
      assign dram_req_id_o = slot_1[0][31:0];
      assign dram_req_burst_o = {job_write ? old_local : job_local, sent_q};
      assign dram_req_tag_o = job_write ? '0 : 16'({job_entry, sent_q});
      assign dram_req_byte_mask_o = 64'({BURST_BYTES{job_write}});
      assign dram_req_data_o = 512'(out_burst);
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {level_q, sent_q} <= '0;
        else begin
          level_q <= level_2 + LEVEL_BITS'(job_way_ends);
          if (sends) sent_q <= sent_q + 1'b1;
        end
      for (genvar i = 0; i < JOBS; i++) begin : g_slot
        assign slot_1[i] = adds && level_q == LEVEL_BITS'(i) ? added : slot_q[i];
        always_ff @(posedge clk_i or negedge rst_ni)
          if (!rst_ni) slot_q[i] <= '0;
          else if (job_way_ends && level_2 == LEVEL_BITS'(i)) slot_q[i] <= {1'b0, job_who, id_q[job_entry]};
          else slot_q[i] <= is_last ? slot_1[i+1] : slot_1[i];
      end
      assign slot_1[JOBS] = '0;
    end
  end

  // Step 8: the pending queue, oldest request first, each {request, set, step}. Of the requests of a set, only
  // the oldest is ever awake or being looked up. A request that could not be served keeps its place and waits
  // for the next event of its set. `left_q` is the number of cycles until a lookup is over, and `rank_q` the
  // number of lookups of this queue that began before it.
  if (1) begin : pending
    localparam logic [1:0] WAITING = 0, AWAKE = 1, LOOKING = 2;
    localparam int LEVEL_BITS = $clog2(PENDING + 1);
    localparam int K_BITS = PENDING < 2 ? 1 : $clog2(PENDING);
    localparam int SLOT = REQUEST + S_BITS + 2;
    localparam logic [SLOT-1:0] NOTHING = {NO_REQUEST, S_BITS'(0), WAITING};
    logic [LEVEL_BITS-1:0] level_q;
    logic [SLOT-1:0]       slot_q [PENDING];
    logic [T_BITS-1:0]     left_q [PENDING];
    logic [K_BITS-1:0]     rank_q [PENDING];

    logic [K_BITS-1:0]  place;
    logic [PENDING-1:0] is_over, same_line, same_set;
    always_comb begin
      again = 0;
      place = '0;
      for (int i = 0; i < PENDING; i++) begin
        if (is_over[i]) begin
          again = 1;
          place = K_BITS'(i);
        end
      end
    end
    assign again_request = slot_q[place][2+S_BITS+:REQUEST];
    assign holds_line = same_line != '0;
    assign holds_set = same_set != '0;
    assign has_place = 32'(level_q) < PENDING;

    // After the lookup of this cycle.
    wire removes = again && serves;
    wire refuses = again && defers;
    wire pushes = !again && defers;
    wire [PENDING-1:0] from_place = ~'0 << place;
    wire [LEVEL_BITS-1:0] level_1 = level_q + LEVEL_BITS'(pushes) - LEVEL_BITS'(removes);
    logic [SLOT-1:0]    slot_1 [PENDING];
    logic [S_BITS-1:0]  set_1  [PENDING];
    logic [T_BITS-1:0]  left_1 [PENDING];
    logic [K_BITS-1:0]  rank_1 [PENDING];
    logic [PENDING-1:0] looking_1, waiting_1, is_first, wakes, awake_2, starts;
    logic [K_BITS-1:0]  num_looking;
    for (genvar i = 0; i < PENDING; i++) begin : g_slot
      assign is_over[i] = slot_q[i][1:0] == LOOKING && rank_q[i] == '0 && left_q[i] == '0;
      assign same_line[i] = LEVEL_BITS'(i) < level_q && slot_q[i][SLOT-35-:LINE_BITS] == line;
      assign same_set[i] = LEVEL_BITS'(i) < level_q && slot_q[i][2+:S_BITS] == set;
      wire moves = removes && from_place[i];
      wire [SLOT-1:0]   behind;
      wire [T_BITS-1:0] left_behind;
      wire [K_BITS-1:0] rank_behind;
      if (i + 1 < PENDING) assign {behind, left_behind, rank_behind} = {slot_q[i+1], left_q[i+1], rank_q[i+1]};
      else assign {behind, left_behind, rank_behind} = {NOTHING, T_BITS'(0), K_BITS'(0)};
      wire is_pushed = pushes && level_q == LEVEL_BITS'(i);
      wire is_refused = refuses && place == K_BITS'(i);
      assign slot_1[i] = is_pushed ? {request, set, WAITING} : moves ? behind : slot_q[i];
      assign set_1[i] = slot_1[i][2+:S_BITS];
      assign left_1[i] = moves ? left_behind : left_q[i];
      assign rank_1[i] = moves ? rank_behind : rank_q[i];
      assign looking_1[i] = slot_1[i][1:0] == LOOKING && !is_refused;
      assign waiting_1[i] = LEVEL_BITS'(i) < level_1 && (slot_1[i][1:0] == WAITING || is_refused);

      // The request is the oldest of its set, and a way, an FRC entry or its line became free.
      wire [S_BITS-1:0] own = set_1[i];
      logic [i:0] older;
      assign older[0] = 0;
      for (genvar j = 0; j < i; j++) begin : g_older
        assign older[j+1] = set_1[j] == own;
      end
      assign is_first[i] = older == '0;
      assign wakes[i] = (removes || finishes && !acc_in_frc) && own == acc_set
                        || exchanges && !old_dirty && 32'(own) % FRC_SETS == 32'(exc_set) % FRC_SETS
                        || job_way_ends && own == job_set
                        || job_ends && job_of_frc && 32'(own) % FRC_SETS == 32'(out_set) % FRC_SETS;
      assign awake_2[i] = slot_1[i][1:0] == AWAKE || waiting_1[i] && is_first[i] && wakes[i];
      assign starts[i] = awake_2[i] && (awake_2 & ((PENDING'(1) << i) - 1'b1)) == '0;
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {slot_q[i], left_q[i], rank_q[i]} <= {NOTHING, T_BITS'(0), K_BITS'(0)};
        else begin
          slot_q[i] <= {slot_1[i][SLOT-1:2], starts[i] || looking_1[i] ? LOOKING : awake_2[i] ? AWAKE : WAITING};
          left_q[i] <= starts[i] ? T_BITS'(LATENCY - 1) : left_1[i] - T_BITS'(left_1[i] != '0);
          rank_q[i] <= starts[i] ? num_looking :
                       looking_1[i] ? rank_1[i] - K_BITS'(removes || refuses) : '0;
        end
    end
    always_comb begin
      num_looking = '0;
      for (int i = 0; i < PENDING; i++) num_looking += K_BITS'(looking_1[i]);
    end
    assign is_awake = awake_2 != '0;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) level_q <= '0;
      else level_q <= level_1;
  end

  // New requests in their lookup.
  if (1) begin : looking
    localparam int LEVEL_BITS = $clog2(LATENCY + 1);
    logic [LEVEL_BITS-1:0] level_q;
    logic [REQUEST-1:0]    slot_q [LATENCY];
    logic [T_BITS-1:0]     left_q [LATENCY];
    wire                   pop = !again && (serves || defers);
    wire  [LEVEL_BITS-1:0] level_1 = level_q - LEVEL_BITS'(pop);
    wire                   push = req_valid_i && req_ready_o;
    wire  [REQUEST-1:0]    req = {
      req_kind_i, req_id_i, req_line_i, req_sm_i, req_partition_i, req_ticket_i, req_function_i, req_type_i,
      req_sectors_i, req_byte_mask_i, req_data_i
    };
    assign is_due = level_q != 0 && left_q[0] == '0;
    assign new_request = slot_q[0];
    assign req_ready_o = 32'(level_1) < LATENCY && !is_awake;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) level_q <= '0;
      else level_q <= level_1 + LEVEL_BITS'(push);
    for (genvar i = 0; i < LATENCY; i++) begin : g_slot
      wire [REQUEST-1:0] behind;
      wire [T_BITS-1:0]  left_behind;
      if (i + 1 < LATENCY) assign {behind, left_behind} = {slot_q[i+1], left_q[i+1]};
      else assign {behind, left_behind} = {NO_REQUEST, T_BITS'(0)};
      wire [T_BITS-1:0] left = pop ? left_behind : left_q[i];
      wire is_pushed = push && level_1 == LEVEL_BITS'(i);
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {slot_q[i], left_q[i]} <= {NO_REQUEST, T_BITS'(0)};
        else if (is_pushed) {slot_q[i], left_q[i]} <= {req, T_BITS'(LATENCY - 1)};
        else {slot_q[i], left_q[i]} <= {pop ? behind : slot_q[i], left - T_BITS'(left != '0)};
    end
  end
  wire unused = &{1'b0, dram_rsp_id_i, dram_rsp_burst_i, dram_rsp_data_i, tags_1};
endmodule
