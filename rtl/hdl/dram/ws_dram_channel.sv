// SPDX-License-Identifier: MIT OR Apache-2.0
// # DRAM channel
// Controls one GDDR5 channel, and models its memory with real bytes. There is one command bus, with one
// command per cycle of the command clock. Rows stay open after an access. Arbitration is FR-FCFS with a cap
// on the row hits that overtake older requests (HIT_CAP, 0 for no cap). One L2 bank sends the requests.
//
// | port      | contract                                                                                 |
// |-----------|------------------------------------------------------------------------------------------|
// | `req`     | a burst to read or write; accepted while the queue has room                              |
// | `rsp`     | data of the reads, in the order of their RD commands, and acknowledgments                |
// | `command` | the command of the last cycle, and the request for which it was sent                     |
//
// A beat of `req` or `rsp` passes in a cycle in which valid and ready are set. The sender of `req` keeps a
// beat until it is accepted. A slot of the queue that a column command frees can be filled in the same cycle.
// `now_i` is the number of the cycle; it rises by one per cycle.
// A request with `req_acknowledged_i` is acknowledged in the cycle in which it is accepted, and waits until
// `rsp` is free for that; read data have priority. A read with this flag is only the notice of an eviction:
// it is acknowledged, and reads nothing. `rsp_is_ack_o` is low for read data.
// Commands: 0 none, 1 ACT, 2 RD, 3 WR, 4 PRE, 5 PREA (all banks), 6 REF. Fields that a command does not use
// are 0; without a command, they keep their values.
// Latency: a request that is accepted in cycle t can have its first command in t + 1. The data of an RD can
// leave READ_LATENCY cycles after it.
// Ordering: accesses to one burst are performed in the order of their arrival; all others may be reordered.
// Stalls: RD waits for a free entry of the reply buffer. Writes and row commands continue.
//
// Each bit of the bank, row and column of a burst is the XOR of some bits of its address. BANK_MAP, ROW_MAP
// and COLUMN_MAP have a mask of these bits for each bit of the result, beginning with bit 0 in the lowest
// BURST_BITS bits. The upper bits of the bank are its bank group.
//
// The memory has MEM_BURSTS bursts of 64 bytes, from burst 0 on; the caller uses no other bursts. It is read
// synchronously: it shows the data in the cycle after an RD, and then the reply buffer stores them.
//
// Not covered: other policies than FR-FCFS, two command buses (HBM), a write drain, several L2 banks at one
// channel, a reply buffer of one entry. Cycles are compared as 64-bit numbers, as in the Rust block.
module ws_dram_channel #(
    parameter int ENTRIES = 16,
    parameter int REPLIES = 16,
    parameter int HIT_CAP = 16,
    parameter int GROUPS = 4,
    parameter int BANKS_PER_GROUP = 4,
    parameter int ROW_BITS = 12,
    parameter int COLUMN_BITS = 6,
    parameter int MEM_BURSTS = 4096,
    parameter int READ_LATENCY = 14,
    parameter int RCD_RD = 12,
    parameter int RCD_WR = 10,
    parameter int RAS = 28,
    parameter int RC = 40,
    parameter int RTP = 2,
    parameter int WR_TO_PRE = 18,
    parameter int RP = 12,
    parameter int RFC = 61,
    parameter int RRD_S = 6,
    parameter int RRD_L = 6,
    parameter int FAW = 23,
    parameter int AW32 = 184,
    parameter int CCD_S = 2,
    parameter int CCD_L = 3,
    parameter int RD_TO_WR = 12,
    parameter int WR_TO_RD_S = 11,
    parameter int WR_TO_RD_L = 11,
    parameter int PPD = 1,
    parameter int REFI = 3604,
    parameter bit REFRESH_OFF = 1,
    localparam int BANKS = GROUPS * BANKS_PER_GROUP,
    localparam int B_BITS = BANKS < 2 ? 1 : $clog2(BANKS),
    localparam int BURST_BITS = B_BITS + ROW_BITS + COLUMN_BITS,
    parameter logic [COLUMN_BITS*BURST_BITS-1:0] COLUMN_MAP = 132'h100000200000400000800000800001,
    parameter logic [B_BITS*BURST_BITS-1:0] BANK_MAP = 88'h2000000400080000100,
    parameter logic [ROW_BITS*BURST_BITS-1:0] ROW_MAP =
        264'h800001000002000004000008000010000020000040000080000100000200000400
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic [63:0]           now_i,

    input  logic                  req_valid_i,
    output logic                  req_ready_o,
    input  logic                  req_write_i,
    input  logic [31:0]           req_id_i,
    input  logic [BURST_BITS-1:0] req_burst_i,
    input  logic [15:0]           req_tag_i,
    input  logic                  req_acknowledged_i,
    input  logic [63:0]           req_byte_mask_i,
    input  logic [511:0]          req_data_i,

    output logic                  rsp_valid_o,
    input  logic                  rsp_ready_i,
    output logic [31:0]           rsp_id_o,
    output logic [BURST_BITS-1:0] rsp_burst_o,
    output logic [15:0]           rsp_tag_o,
    output logic                  rsp_is_ack_o,
    output logic [511:0]          rsp_data_o,

    output logic [2:0]             command_kind_o,
    output logic [B_BITS-1:0]      command_bank_o,
    output logic [ROW_BITS-1:0]    command_row_o,
    output logic [COLUMN_BITS-1:0] command_column_o,
    output logic [31:0]            command_id_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (REPLIES < 2) begin : g_refuse_replies
    $error("REPLIES is %0d, expected 2 or more", REPLIES);
  end
  if (HIT_CAP < 0 || HIT_CAP > 65535) begin : g_refuse_hit_cap
    $error("HIT_CAP is %0d, expected 0 to 65535", HIT_CAP);
  end
  if (BANKS < 2 || BANKS != 2 ** B_BITS) begin : g_refuse_groups
    $error("GROUPS is %0d, expected 2 banks or more, a power of two", GROUPS);
  end
  if (COLUMN_BITS < 1) begin : g_refuse_column_bits
    $error("COLUMN_BITS is %0d, expected 1 or more", COLUMN_BITS);
  end
  if (64'(MEM_BURSTS) > 64'd1 << BURST_BITS) begin : g_refuse_mem_bursts
    $error("MEM_BURSTS is %0d, expected no more bursts than addresses", MEM_BURSTS);
  end
  if (READ_LATENCY < 2) begin : g_refuse_read_latency
    $error("READ_LATENCY is %0d, expected 2 or more", READ_LATENCY);
  end
  if (COLUMN_MAP == '0) begin : g_refuse_column_map
    $error("COLUMN_MAP is 0, expected a mask for each bit");
  end
  if (BANK_MAP == '0) begin : g_refuse_bank_map
    $error("BANK_MAP is 0, expected a mask for each bit");
  end
  if (ROW_MAP == '0) begin : g_refuse_row_map
    $error("ROW_MAP is 0, expected a mask for each bit");
  end
`endif

  localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES);
  localparam int P_BITS = REPLIES < 2 ? 1 : $clog2(REPLIES);
  localparam int C_BITS = $clog2(REPLIES + 1);
  localparam int M_BITS = MEM_BURSTS < 2 ? 1 : $clog2(MEM_BURSTS);
  localparam logic [2:0] NOP = 0, ACT = 1, RD = 2, WR = 3, PRE = 4, PREA = 5, REF = 6;

  // Slot whose request gets the command.
  wire [E_BITS-1:0] slot;

  // Waiting requests, one per slot. A slot keeps its request when it is freed.
  // An array is read in its own scope, because Icarus 11 does not notice changes of its words elsewhere.
  if (1) begin : queue
    logic [31:0]           id_q         [ENTRIES];
    logic [15:0]           tag_q        [ENTRIES];
    logic [BURST_BITS-1:0] burst_q      [ENTRIES];
    // Slots with older requests, and those among them that access the same burst.
    logic [ENTRIES-1:0]    older_q      [ENTRIES];
    logic [ENTRIES-1:0]    same_burst_q [ENTRIES];
    // Mask and data of a write.
    logic [575:0]          data_q       [ENTRIES];
    logic [ENTRIES-1:0]    occupied_q, writes_q, hits_q;
    wire [BURST_BITS-1:0]         burst = burst_q[slot];
    wire [575:0]                  written = data_q[slot];
    wire [ENTRIES*BURST_BITS-1:0] bursts;
    wire [ENTRIES*ENTRIES-1:0]    older, same_burst;
    for (genvar s = 0; s < ENTRIES; s++) begin : g_all
      assign bursts[s*BURST_BITS+:BURST_BITS] = burst_q[s];
      assign older[s*ENTRIES+:ENTRIES] = older_q[s];
      assign same_burst[s*ENTRIES+:ENTRIES] = same_burst_q[s];
    end
  end

  // Bursts that were read, in a ring buffer, each with the cycle from which it can be sent.
  if (1) begin : replies
    logic [BURST_BITS+559:0] bursts_q [REPLIES];
    logic [63:0]             cycle_q  [REPLIES];
    logic [P_BITS-1:0]       head_q;
    logic [C_BITS-1:0]       count_q;
    wire  [BURST_BITS+559:0] first = bursts_q[head_q];
    wire  [63:0]             first_from = cycle_q[head_q];
  end

  // Last command on the command bus.
  if (1) begin : command
    logic [2:0]             kind_q;
    logic [B_BITS-1:0]      bank_q;
    logic [ROW_BITS-1:0]    row_q;
    logic [COLUMN_BITS-1:0] column_q;
    logic [31:0]            id_q;
  end

  assign {command_kind_o, command_bank_o, command_row_o} = {command.kind_q, command.bank_q, command.row_q};
  assign {command_column_o, command_id_o} = {command.column_q, command.id_q};

  // Place and state of each slot's request.
  wire [ENTRIES*B_BITS-1:0]   bank_at;
  wire [ENTRIES*ROW_BITS-1:0] row_at;
  wire [ENTRIES-1:0]          blocked, same_as_new;
  for (genvar s = 0; s < ENTRIES; s++) begin : g_slot
    wire [BURST_BITS-1:0] burst_here = queue.bursts[s*BURST_BITS+:BURST_BITS];
    for (genvar k = 0; k < B_BITS; k++) begin : g_bank
      assign bank_at[s*B_BITS+k] = ^(burst_here & BANK_MAP[k*BURST_BITS+:BURST_BITS]);
    end
    for (genvar k = 0; k < ROW_BITS; k++) begin : g_row
      assign row_at[s*ROW_BITS+k] = ^(burst_here & ROW_MAP[k*BURST_BITS+:BURST_BITS]);
    end
    assign blocked[s] = queue.same_burst[s*ENTRIES+:ENTRIES] != '0;
    assign same_as_new[s] = burst_here == req_burst_i;
  end

  // Legality of the next command in each bank.
  wire [BANKS-1:0]          bank_open, bank_act, bank_rd, bank_wr, bank_pre, served, capped;
  wire [BANKS*ROW_BITS-1:0] bank_row;
  wire [BANKS*16-1:0]       overtaken;
  wire [GROUPS-1:0]         group_act, group_rd, group_wr;
  wire                      any_pre, any_ref;
  wire [BANKS-1:0]          may_pre = bank_pre & {BANKS{any_pre}};
  wire [BANKS-1:0]          may_act, may_rd, may_wr;
  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    assign may_act[b] = bank_act[b] && group_act[b/BANKS_PER_GROUP];
    assign may_rd[b] = bank_rd[b] && group_rd[b/BANKS_PER_GROUP];
    assign may_wr[b] = bank_wr[b] && group_wr[b/BANKS_PER_GROUP];
    assign capped[b] = HIT_CAP != 0 && bank_open[b] && overtaken[b*16+:16] >= 16'(HIT_CAP);
  end
  wire [ENTRIES-1:0] col_legal;
  for (genvar s = 0; s < ENTRIES; s++) begin : g_legal
    wire [B_BITS-1:0] bank = bank_at[s*B_BITS+:B_BITS];
    assign col_legal[s] = queue.writes_q[s] ? may_wr[bank] : may_rd[bank];
  end

  // Choice of the command. While a refresh is due, only `columns` get commands.
  wire [ENTRIES-1:0] all = '1;
  wire               reads = replies.count_q != C_BITS'(REPLIES);
  wire               stops, step_valid, step_is_ref;
  wire [ENTRIES-1:0] columns;
  wire               col_valid, row_valid, row_is_pre;
  wire [E_BITS-1:0]  col_slot, row_slot;
  wire               steps = stops && columns == '0 && step_valid;
  assign             slot = col_valid ? col_slot : row_slot;
  wire [2:0]         kind = col_valid ? (queue.writes_q[slot] ? WR : RD) : row_valid ? (row_is_pre ? PRE : ACT) :
                            steps ? (step_is_ref ? REF : PREA) : NOP;
  wire               is_row = kind == ACT || kind == PRE;
  wire [B_BITS-1:0]  bank_number = bank_at[32'(slot)*B_BITS+:B_BITS];
  wire [ROW_BITS-1:0] row_number = row_at[32'(slot)*ROW_BITS+:ROW_BITS];
  wire [COLUMN_BITS-1:0] column_number;
  for (genvar k = 0; k < COLUMN_BITS; k++) begin : g_column
    assign column_number[k] = ^(queue.burst & COLUMN_MAP[k*BURST_BITS+:BURST_BITS]);
  end

  // Effect of the command on the queue.
  wire [ENTRIES-1:0] one = ENTRIES'(1) << slot;
  wire [ENTRIES-1:0] freed = col_valid ? one : '0;
  wire [ENTRIES-1:0] occupied_1 = queue.occupied_q & ~freed;
  wire [ENTRIES-1:0] in_bank, in_row;
  for (genvar s = 0; s < ENTRIES; s++) begin : g_match
    assign in_bank[s] = queue.occupied_q[s] && bank_at[s*B_BITS+:B_BITS] == bank_number;
    assign in_row[s] = in_bank[s] && row_at[s*ROW_BITS+:ROW_BITS] == row_number;
  end
  wire overtakes = (queue.older[32'(slot)*ENTRIES+:ENTRIES] & in_bank & ~queue.hits_q) != '0;
  wire [ENTRIES-1:0] hits_1 = kind == ACT ? queue.hits_q | in_row : kind == PRE ? queue.hits_q & ~in_bank :
                              kind == PREA ? '0 : queue.hits_q & ~freed;

  // Ports `rsp` and `req`.
  wire has_reply = replies.count_q != '0 && now_i >= replies.first_from;
  wire sends_reply = has_reply && rsp_ready_i;
  wire has_room = occupied_1 != '1;
  assign rsp_valid_o = has_reply || req_valid_i && req_acknowledged_i && has_room;
  assign {rsp_id_o, rsp_burst_o, rsp_tag_o, rsp_data_o} =
      has_reply ? replies.first : {req_id_i, req_burst_i, req_tag_i, 512'd0};
  assign rsp_is_ack_o = !has_reply;
  assign req_ready_o = has_room && (!req_acknowledged_i || !has_reply && rsp_ready_i);
  wire takes = req_valid_i && req_ready_o && (req_write_i || !req_acknowledged_i);
  wire [ENTRIES-1:0] new_slot = takes ? ~occupied_1 & (occupied_1 + 1'b1) : '0;

  // The new request hits if the row of its bank is open after the command.
  wire [B_BITS-1:0]   new_bank;
  wire [ROW_BITS-1:0] new_row;
  for (genvar k = 0; k < B_BITS; k++) begin : g_new_bank
    assign new_bank[k] = ^(req_burst_i & BANK_MAP[k*BURST_BITS+:BURST_BITS]);
  end
  for (genvar k = 0; k < ROW_BITS; k++) begin : g_new_row
    assign new_row[k] = ^(req_burst_i & ROW_MAP[k*BURST_BITS+:BURST_BITS]);
  end
  wire is_here = is_row && bank_number == new_bank;
  wire new_hits = is_here ? kind == ACT && row_number == new_row :
                  kind != PREA && bank_open[new_bank] && bank_row[32'(new_bank)*ROW_BITS+:ROW_BITS] == new_row;

  for (genvar b = 0; b < BANKS; b++) begin : bank
    wire is_own = bank_number == B_BITS'(b);
    wire [2:0] op = kind == REF ? 3'd5 : kind == PREA ? PRE : is_own ? kind : NOP;
    ws_dram_bank #(
        .ROW_BITS(ROW_BITS), .RCD_RD(RCD_RD), .RCD_WR(RCD_WR), .RAS(RAS), .RC(RC), .RTP(RTP),
        .WR_TO_PRE(WR_TO_PRE), .RP(RP), .RFC(RFC)
    ) unit (
        .clk_i, .rst_ni, .now_i, .op_i(op), .act_row_i(row_number), .overtakes_i(overtakes),
        .is_open_o(bank_open[b]), .open_row_o(bank_row[b*ROW_BITS+:ROW_BITS]), .is_served_o(served[b]),
        .num_overtaken_o(overtaken[b*16+:16]), .may_act_o(bank_act[b]), .may_rd_o(bank_rd[b]),
        .may_wr_o(bank_wr[b]), .may_pre_o(bank_pre[b])
    );
  end
  // Whether a row was served is only counted by simulators.
  wire unused = &{1'b0, served};

  ws_dram_timing #(
      .GROUPS(GROUPS), .BANKS_PER_GROUP(BANKS_PER_GROUP), .RRD_S(RRD_S), .RRD_L(RRD_L), .FAW(FAW), .AW32(AW32),
      .RC(RC), .CCD_S(CCD_S), .CCD_L(CCD_L), .RD_TO_WR(RD_TO_WR), .WR_TO_RD_S(WR_TO_RD_S),
      .WR_TO_RD_L(WR_TO_RD_L), .PPD(PPD), .RP(RP), .RFC(RFC)
  ) timing (
      .clk_i, .rst_ni, .now_i,
      .row_op_i(kind == ACT ? 2'd1 : kind == PRE || kind == PREA ? 2'd2 : kind == REF ? 2'd3 : 2'd0),
      .row_bank_i(bank_number), .may_act_o(group_act), .may_pre_o(any_pre), .may_ref_o(any_ref),
      .col_op_i(kind == RD ? 2'd1 : kind == WR ? 2'd2 : 2'd0), .col_bank_i(bank_number),
      .may_rd_o(group_rd), .may_wr_o(group_wr)
  );

  ws_dram_refresh #(.ENTRIES(ENTRIES), .BANKS(BANKS), .REFI(REFI), .OFF(REFRESH_OFF)) refresh (
      .clk_i, .rst_ni, .now_i, .reads_i(reads), .hits_i(queue.hits_q), .eligible_i(queue.occupied_q),
      .writes_i(queue.writes_q), .blocked_i(blocked), .stops_o(stops), .columns_o(columns), .open_i(bank_open),
      .may_pre_i(may_pre), .may_ref_i(any_ref), .step_valid_o(step_valid), .step_is_ref_o(step_is_ref),
      .served_valid_i(col_valid), .served_slot_i(col_slot), .done_i(kind == REF)
  );

  ws_dram_scheduler #(.ENTRIES(ENTRIES), .BANKS(BANKS), .FCFS(0), .DUAL(0)) scheduler (
      .occupied_i(queue.occupied_q), .writes_i(queue.writes_q), .hits_i(queue.hits_q), .blocked_i(blocked),
      .older_i(queue.older), .bank_i(bank_at), .turn_i(all), .columns_i(stops ? columns : all), .reads_i(reads),
      .rows_i(!stops), .capped_i(capped), .open_i(bank_open), .col_legal_i(col_legal),
      .row_legal_i(bank_open & may_pre | ~bank_open & may_act), .col_valid_o(col_valid), .col_slot_o(col_slot),
      .row_valid_o(row_valid), .row_slot_o(row_slot), .row_is_pre_o(row_is_pre)
  );

  // Memory.
  wire [511:0] read_data;
  ws_cells_sram #(.WORDS(MEM_BURSTS), .BYTES(64)) memory (
      .clk_i, .write_valid_i(kind == WR), .write_address_i(queue.burst[M_BITS-1:0]),
      .write_mask_i(queue.written[575:512]), .write_data_i(queue.written[511:0]), .read_valid_i(kind == RD),
      .read_address_i(queue.burst[M_BITS-1:0]), .read_data_o(read_data)
  );

  // Entry of the reply buffer after those that are `ahead` of it.
  function automatic [P_BITS-1:0] entry_after(input [P_BITS-1:0] head, input [C_BITS-1:0] ahead);
    entry_after = P_BITS'(32'(head) + 32'(ahead) < REPLIES ? 32'(head) + 32'(ahead) : 32'(head) + 32'(ahead) - REPLIES);
  endfunction
  wire [P_BITS-1:0] tail = entry_after(replies.head_q, replies.count_q);
  wire [P_BITS-1:0] last = entry_after(replies.head_q, replies.count_q - 1'b1);

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {command.kind_q, command.bank_q, command.row_q, command.column_q, command.id_q} <= '0;
      {queue.occupied_q, queue.writes_q, queue.hits_q} <= '0;
      {replies.head_q, replies.count_q} <= '0;
      for (int s = 0; s < ENTRIES; s++) begin
        queue.older_q[s] <= '0;
        queue.same_burst_q[s] <= '0;
      end
    end else begin
      command.kind_q <= kind;
      if (kind != NOP) begin
        command.bank_q <= steps ? '0 : bank_number;
        command.row_q <= steps ? '0 : kind == PRE ? bank_row[32'(bank_number)*ROW_BITS+:ROW_BITS] : row_number;
        command.column_q <= col_valid ? column_number : '0;
        command.id_q <= steps ? '0 : queue.id_q[slot];
      end
      queue.occupied_q <= occupied_1 | new_slot;
      queue.writes_q <= queue.writes_q & ~freed | (req_write_i ? new_slot : '0);
      queue.hits_q <= hits_1 | (new_hits ? new_slot : '0);
      for (int s = 0; s < ENTRIES; s++)
        if (new_slot[s]) begin
          queue.older_q[s] <= occupied_1;
          queue.same_burst_q[s] <= occupied_1 & same_as_new;
        end else if (occupied_1[s]) begin
          queue.older_q[s] <= queue.older_q[s] & ~freed;
          queue.same_burst_q[s] <= queue.same_burst_q[s] & ~freed;
        end
      if (sends_reply) replies.head_q <= entry_after(replies.head_q, C_BITS'(1));
      replies.count_q <= replies.count_q + C_BITS'(kind == RD) - C_BITS'(sends_reply);
    end

  always_ff @(posedge clk_i) begin
    for (int s = 0; s < ENTRIES; s++)
      if (new_slot[s]) begin
        queue.id_q[s] <= req_id_i;
        queue.tag_q[s] <= req_tag_i;
        queue.burst_q[s] <= req_burst_i;
        if (req_write_i) queue.data_q[s] <= {req_byte_mask_i, req_data_i};
      end
    if (kind == RD) begin
      replies.bursts_q[tail][BURST_BITS+559:512] <= {queue.id_q[slot], queue.burst, queue.tag_q[slot]};
      replies.cycle_q[tail] <= now_i + 64'(READ_LATENCY);
    end
    if (command.kind_q == RD) replies.bursts_q[last][511:0] <= read_data;
  end
endmodule
