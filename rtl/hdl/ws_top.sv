// SPDX-License-Identifier: MIT OR Apache-2.0
// # Memory system of one SM
// L1 data cache with its LSU, request and reply crossbar, L2 bank with FRC, and DRAM channel, with the links
// between them: the path of a memory instruction from the SM to memory and back, as in a machine with one SM, one
// partition, and one clock for all blocks.
//
// ```text
//  core_req -> l1 -> inject -> requests -> to_l2 -> l2 -> to_dram -> dram
//  core_rsp <-    <- deliver <- replies <- from_l2 <-   <- from_dram <-
// ```
//
// | port       | contract                                                                               |
// |------------|----------------------------------------------------------------------------------------|
// | `core_req` | an instruction of a warp, as in `ws_l1_cache`                                          |
// | `core_rsp` | one reply per instruction, with the bytes that a load or an atomic returns             |
// | `flush`    | end of a kernel: the L1 drops all lines; every instruction has its reply               |
// | `command`  | the command of the last cycle on the command bus of the channel, as in `ws_dram_channel` |
//
// A message is transferred in a cycle in which its `valid` and `ready` are set. `now_i` is the number of the cycle;
// it rises by one per cycle.
//
// INJECT, TO_L2, FROM_L2, DELIVER and FROM_DRAM are the delays of the links in cycles. A credit takes as long as a
// word on the link of the other direction; INJECT and DELIVER are 0 for a link whose word is visible in the next
// cycle. The link to the channel has no delay of its own.
// The memory has MEM_BURSTS bursts of 64 bytes, an instance of `ws_cells_sram` in the channel. Other parameters are
// parameters of the blocks, with the name of the block in front.
// Not covered: several SMs or partitions, several clocks, and what the headers of the blocks exclude.
module ws_top #(
    parameter int LINE_BITS = 25,
    parameter int LINE_LOG2 = 7,
    parameter int PC_BITS = 20,
    parameter int SM_BITS = 1,
    parameter int L1_SETS = 32,
    parameter int L1_WAYS = 4,
    parameter int L1_MSHR_ENTRIES = 32,
    parameter int L1_MSHR_MERGES = 8,
    parameter int L1_MISS_QUEUE = 8,
    parameter int L1_ACCESS_QUEUE = 8,
    parameter int L1_SLOTS = 64,
    parameter int FLIT_BYTES = 32,
    parameter int BUFFER_FLITS = 8,
    parameter int INJECT = 60,
    parameter int TO_L2 = 60,
    parameter int FROM_L2 = 4,
    parameter int DELIVER = 4,
    parameter int FROM_DRAM = 100,
    parameter int L2_SETS = 64,
    parameter int L2_WAYS = 16,
    parameter int L2_LATENCY = 4,
    parameter int L2_ENTRIES = 32,
    parameter int L2_MERGES = 4,
    parameter int L2_REPLIES = 8,
    parameter int L2_PENDING = 32,
    parameter int L2_FRC_SETS = 8,
    parameter int L2_FRC_WAYS = 8,
    parameter int L2_SWAP_LATENCY = 1,
    parameter int L2_BURST_BYTES = 64,
    parameter int DRAM_ENTRIES = 16,
    parameter int DRAM_REPLIES = 16,
    parameter int DRAM_HIT_CAP = 16,
    parameter int DRAM_GROUPS = 4,
    parameter int DRAM_BANKS_PER_GROUP = 4,
    parameter int DRAM_ROW_BITS = 12,
    parameter int DRAM_COLUMN_BITS = 6,
    parameter int DRAM_READ_LATENCY = 14,
    parameter int DRAM_RCD_RD = 12,
    parameter int DRAM_RCD_WR = 10,
    parameter int DRAM_RAS = 28,
    parameter int DRAM_RC = 40,
    parameter int DRAM_RTP = 2,
    parameter int DRAM_WR_TO_PRE = 18,
    parameter int DRAM_RP = 12,
    parameter int DRAM_RFC = 61,
    parameter int DRAM_RRD_S = 6,
    parameter int DRAM_RRD_L = 6,
    parameter int DRAM_FAW = 23,
    parameter int DRAM_AW32 = 184,
    parameter int DRAM_CCD_S = 2,
    parameter int DRAM_CCD_L = 3,
    parameter int DRAM_RD_TO_WR = 12,
    parameter int DRAM_WR_TO_RD_S = 11,
    parameter int DRAM_WR_TO_RD_L = 11,
    parameter int DRAM_PPD = 1,
    parameter int DRAM_REFI = 3604,
    parameter bit DRAM_REFRESH_OFF = 1,
    parameter int MEM_BURSTS = 4096,
    localparam int BANKS = DRAM_GROUPS * DRAM_BANKS_PER_GROUP,
    localparam int B_BITS = BANKS < 2 ? 1 : $clog2(BANKS),
    localparam int BURST_BITS = B_BITS + DRAM_ROW_BITS + DRAM_COLUMN_BITS,
    parameter logic [DRAM_COLUMN_BITS*BURST_BITS-1:0] DRAM_COLUMN_MAP = 132'h100000200000400000800000800001,
    parameter logic [B_BITS*BURST_BITS-1:0] DRAM_BANK_MAP = 88'h2000000400080000100,
    parameter logic [DRAM_ROW_BITS*BURST_BITS-1:0] DRAM_ROW_MAP =
        264'h800001000002000004000008000010000020000040000080000100000200000400,
    localparam int LANES = 32,
    localparam int ADDR_BITS = LINE_BITS + LINE_LOG2
) (
    input  logic                        clk_i,
    input  logic                        rst_ni,
    input  logic [63:0]                 now_i,
    input  logic                        flush_i,

    input  logic                        core_req_valid_i,
    output logic                        core_req_ready_o,
    input  logic [1:0]                  core_req_kind_i,
    input  logic [1:0]                  core_req_space_i,
    input  logic                        core_req_uncached_i,
    input  logic [5:0]                  core_req_warp_i,
    input  logic [PC_BITS-1:0]          core_req_pc_i,
    input  logic [1:0]                  core_req_beat_i,
    input  logic [1:0]                  core_req_size_log2_i,
    input  logic [LANES-1:0]            core_req_mask_i,
    input  logic [3:0]                  core_req_function_i,
    input  logic [3:0]                  core_req_type_i,
    input  logic [LANES*ADDR_BITS-1:0]  core_req_address_i,
    input  logic [64*LANES-1:0]         core_req_data_i,
    input  logic [64*LANES-1:0]         core_req_compare_i,

    output logic                        core_rsp_valid_o,
    input  logic                        core_rsp_ready_i,
    output logic                        core_rsp_kind_o,
    output logic [5:0]                  core_rsp_warp_o,
    output logic [PC_BITS-1:0]          core_rsp_pc_o,
    output logic [1:0]                  core_rsp_beat_o,
    output logic [1:0]                  core_rsp_size_log2_o,
    output logic [LANES-1:0]            core_rsp_mask_o,
    output logic [64*LANES-1:0]         core_rsp_data_o,

    output logic [2:0]                  command_kind_o,
    output logic [B_BITS-1:0]           command_bank_o,
    output logic [DRAM_ROW_BITS-1:0]    command_row_o,
    output logic [DRAM_COLUMN_BITS-1:0] command_column_o,
    output logic [31:0]                 command_id_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (INJECT < 0) begin : g_refuse_inject
    $error("INJECT is %0d, expected 0 or more", INJECT);
  end
  if (TO_L2 < 1) begin : g_refuse_to_l2
    $error("TO_L2 is %0d, expected 1 or more", TO_L2);
  end
  if (FROM_L2 < 1) begin : g_refuse_from_l2
    $error("FROM_L2 is %0d, expected 1 or more", FROM_L2);
  end
  if (DELIVER < 0) begin : g_refuse_deliver
    $error("DELIVER is %0d, expected 0 or more", DELIVER);
  end
  if (FROM_DRAM < 1) begin : g_refuse_from_dram
    $error("FROM_DRAM is %0d, expected 1 or more", FROM_DRAM);
  end
`endif

  localparam int LINE_BYTES = 1 << LINE_LOG2;
  localparam int PARTITION_BITS = 1;
  // Widths of a request, a reply, a burst request and a burst. The L2 bank counts bursts of all addresses, and the
  // channel those that it has.
  localparam int REQUEST = 94 + LINE_BITS + SM_BITS + PARTITION_BITS + 9 * LINE_BYTES;
  localparam int REPLY = 85 + LINE_BITS + SM_BITS + 8 * LINE_BYTES;
  localparam int L2_BURST_BITS = LINE_BITS + $clog2(LINE_BYTES / L2_BURST_BYTES);
  localparam int FETCH = 1 + 32 + L2_BURST_BITS + 16 + 64 + 512;
  localparam int BURST = 32 + BURST_BITS + 16 + 512;

  logic                l1_req_valid, l1_req_ready, l1_rsp_valid, l1_rsp_ready;
  logic [REQUEST-1:0]  l1_req;
  logic [REPLY-1:0]    l1_rsp;
  ws_l1_cache #(
      .SETS(L1_SETS), .WAYS(L1_WAYS), .LINE_BITS(LINE_BITS), .LINE_LOG2(LINE_LOG2), .MSHR_ENTRIES(L1_MSHR_ENTRIES),
      .MSHR_MERGES(L1_MSHR_MERGES), .MISS_QUEUE(L1_MISS_QUEUE), .ACCESS_QUEUE(L1_ACCESS_QUEUE), .SLOTS(L1_SLOTS),
      .PC_BITS(PC_BITS), .PARTITIONS(1), .SM_BITS(SM_BITS), .SM(0)
  ) l1 (
      .clk_i, .rst_ni, .flush_i,
      .core_req_ready_o, .core_req_valid_i, .core_req_kind_i, .core_req_space_i, .core_req_uncached_i,
      .core_req_warp_i, .core_req_pc_i, .core_req_beat_i, .core_req_size_log2_i, .core_req_mask_i,
      .core_req_function_i, .core_req_type_i, .core_req_address_i, .core_req_data_i, .core_req_compare_i,
      .core_rsp_ready_i, .core_rsp_valid_o, .core_rsp_kind_o, .core_rsp_warp_o, .core_rsp_pc_o, .core_rsp_beat_o,
      .core_rsp_size_log2_o, .core_rsp_mask_o, .core_rsp_data_o,
      .mem_req_ready_i(l1_req_ready), .mem_req_valid_o(l1_req_valid), .mem_req_kind_o(l1_req[REQUEST-1-:2]),
      .mem_req_id_o(l1_req[REQUEST-3-:32]), .mem_req_line_o(l1_req[REQUEST-35-:LINE_BITS]),
      .mem_req_sm_o(l1_req[60+9*LINE_BYTES+PARTITION_BITS+:SM_BITS]),
      .mem_req_partition_o(l1_req[60+9*LINE_BYTES+:PARTITION_BITS]), .mem_req_ticket_o(l1_req[12+9*LINE_BYTES+:48]),
      .mem_req_function_o(l1_req[8+9*LINE_BYTES+:4]), .mem_req_type_o(l1_req[4+9*LINE_BYTES+:4]),
      .mem_req_sectors_o(l1_req[9*LINE_BYTES+:4]), .mem_req_byte_mask_o(l1_req[8*LINE_BYTES+:LINE_BYTES]),
      .mem_req_data_o(l1_req[0+:8*LINE_BYTES]),
      .mem_rsp_ready_o(l1_rsp_ready), .mem_rsp_valid_i(l1_rsp_valid), .mem_rsp_kind_i(l1_rsp[REPLY-1]),
      .mem_rsp_id_i(l1_rsp[REPLY-2-:32]), .mem_rsp_line_i(l1_rsp[REPLY-34-:LINE_BITS]),
      .mem_rsp_sm_i(l1_rsp[52+8*LINE_BYTES+:SM_BITS]), .mem_rsp_ticket_i(l1_rsp[4+8*LINE_BYTES+:48]),
      .mem_rsp_sectors_i(l1_rsp[8*LINE_BYTES+:4]), .mem_rsp_data_i(l1_rsp[0+:8*LINE_BYTES])
  );

  // From the L1 to the L2.
  logic               inject_valid, inject_ready, sent_valid, sent_ready, l2_req_valid, l2_req_ready;
  logic [REQUEST-1:0] inject_word, sent_word, l2_req;
  ws_noc_link #(
      .WIDTH(REQUEST), .DEPTH(2 + INJECT + DELIVER), .LATENCY(INJECT < 1 ? 1 : INJECT),
      .CREDIT(DELIVER < 1 ? 1 : DELIVER)
  ) inject (
      .clk_i, .rst_ni, .from_valid_i(l1_req_valid), .from_ready_o(l1_req_ready), .from_word_i(l1_req),
      .to_valid_o(inject_valid), .to_ready_i(inject_ready), .to_word_o(inject_word)
  );
  ws_noc_xbar #(
      .REPLIES(0), .INPUTS(1), .OUTPUTS(1), .FLIT_BYTES(FLIT_BYTES), .BUFFER_FLITS(BUFFER_FLITS),
      .LINE_BITS(LINE_BITS), .LINE_BYTES(LINE_BYTES), .SM_BITS(SM_BITS), .PARTITION_BITS(PARTITION_BITS)
  ) requests (
      .clk_i, .rst_ni, .from_valid_i(inject_valid), .from_ready_o(inject_ready), .from_packet_i(inject_word),
      .to_valid_o(sent_valid), .to_ready_i(sent_ready), .to_packet_o(sent_word)
  );
  ws_noc_link #(
      .WIDTH(REQUEST), .DEPTH(2 + TO_L2 + FROM_L2), .LATENCY(TO_L2), .CREDIT(FROM_L2)
  ) to_l2 (
      .clk_i, .rst_ni, .from_valid_i(sent_valid), .from_ready_o(sent_ready), .from_word_i(sent_word),
      .to_valid_o(l2_req_valid), .to_ready_i(l2_req_ready), .to_word_o(l2_req)
  );

  logic             l2_rsp_valid, l2_rsp_ready, fetch_valid, fetch_ready, fetched_valid, fetched_ready;
  logic [REPLY-1:0] l2_rsp;
  logic [FETCH-1:0] fetch;
  logic [BURST-1:0] fetched;
  ws_l2_bank #(
      .SETS(L2_SETS), .WAYS(L2_WAYS), .LINE_BYTES(LINE_BYTES), .LATENCY(L2_LATENCY), .ENTRIES(L2_ENTRIES),
      .MERGES(L2_MERGES), .REPLIES(L2_REPLIES), .PENDING(L2_PENDING), .FRC_SETS(L2_FRC_SETS),
      .FRC_WAYS(L2_FRC_WAYS), .SWAP_LATENCY(L2_SWAP_LATENCY), .BURST_BYTES(L2_BURST_BYTES), .PARTITIONS(1),
      .LINE_BITS(LINE_BITS), .SM_BITS(SM_BITS), .PARTITION_BITS(PARTITION_BITS)
  ) l2 (
      .clk_i, .rst_ni,
      .req_valid_i(l2_req_valid), .req_ready_o(l2_req_ready), .req_kind_i(l2_req[REQUEST-1-:2]),
      .req_id_i(l2_req[REQUEST-3-:32]), .req_line_i(l2_req[REQUEST-35-:LINE_BITS]),
      .req_sm_i(l2_req[60+9*LINE_BYTES+PARTITION_BITS+:SM_BITS]),
      .req_partition_i(l2_req[60+9*LINE_BYTES+:PARTITION_BITS]), .req_ticket_i(l2_req[12+9*LINE_BYTES+:48]),
      .req_function_i(l2_req[8+9*LINE_BYTES+:4]), .req_type_i(l2_req[4+9*LINE_BYTES+:4]),
      .req_sectors_i(l2_req[9*LINE_BYTES+:4]), .req_byte_mask_i(l2_req[8*LINE_BYTES+:LINE_BYTES]),
      .req_data_i(l2_req[0+:8*LINE_BYTES]),
      .rsp_valid_o(l2_rsp_valid), .rsp_ready_i(l2_rsp_ready), .rsp_kind_o(l2_rsp[REPLY-1]),
      .rsp_id_o(l2_rsp[REPLY-2-:32]), .rsp_line_o(l2_rsp[REPLY-34-:LINE_BITS]),
      .rsp_sm_o(l2_rsp[52+8*LINE_BYTES+:SM_BITS]), .rsp_ticket_o(l2_rsp[4+8*LINE_BYTES+:48]),
      .rsp_sectors_o(l2_rsp[8*LINE_BYTES+:4]), .rsp_data_o(l2_rsp[0+:8*LINE_BYTES]),
      .dram_req_valid_o(fetch_valid), .dram_req_ready_i(fetch_ready), .dram_req_write_o(fetch[FETCH-1]),
      .dram_req_id_o(fetch[FETCH-2-:32]), .dram_req_burst_o(fetch[592+:L2_BURST_BITS]),
      .dram_req_tag_o(fetch[576+:16]), .dram_req_byte_mask_o(fetch[512+:64]), .dram_req_data_o(fetch[0+:512]),
      .dram_rsp_valid_i(fetched_valid), .dram_rsp_ready_o(fetched_ready), .dram_rsp_id_i(fetched[BURST-1-:32]),
      .dram_rsp_burst_i(L2_BURST_BITS'(fetched[528+:BURST_BITS])), .dram_rsp_tag_i(fetched[512+:16]),
      .dram_rsp_data_i(fetched[0+:512])
  );

  // From the L2 to the L1.
  logic             answer_valid, answer_ready, answered_valid, answered_ready;
  logic [REPLY-1:0] answer_word, answered_word;
  ws_noc_link #(
      .WIDTH(REPLY), .DEPTH(2 + FROM_L2 + TO_L2), .LATENCY(FROM_L2), .CREDIT(TO_L2)
  ) from_l2 (
      .clk_i, .rst_ni, .from_valid_i(l2_rsp_valid), .from_ready_o(l2_rsp_ready), .from_word_i(l2_rsp),
      .to_valid_o(answer_valid), .to_ready_i(answer_ready), .to_word_o(answer_word)
  );
  ws_noc_xbar #(
      .REPLIES(1), .INPUTS(1), .OUTPUTS(1), .FLIT_BYTES(FLIT_BYTES), .BUFFER_FLITS(BUFFER_FLITS),
      .LINE_BITS(LINE_BITS), .LINE_BYTES(LINE_BYTES), .SM_BITS(SM_BITS), .PARTITION_BITS(PARTITION_BITS)
  ) replies (
      .clk_i, .rst_ni, .from_valid_i(answer_valid), .from_ready_o(answer_ready), .from_packet_i(answer_word),
      .to_valid_o(answered_valid), .to_ready_i(answered_ready), .to_packet_o(answered_word)
  );
  ws_noc_link #(
      .WIDTH(REPLY), .DEPTH(2 + DELIVER + INJECT), .LATENCY(DELIVER < 1 ? 1 : DELIVER),
      .CREDIT(INJECT < 1 ? 1 : INJECT)
  ) deliver (
      .clk_i, .rst_ni, .from_valid_i(answered_valid), .from_ready_o(answered_ready), .from_word_i(answered_word),
      .to_valid_o(l1_rsp_valid), .to_ready_i(l1_rsp_ready), .to_word_o(l1_rsp)
  );

  // From the L2 to memory and back.
  logic                     dram_req_valid, dram_req_ready, dram_rsp_valid, dram_rsp_ready, dram_rsp_is_ack;
  logic [FETCH-1:0]         dram_req;
  logic [BURST-1:0]         dram_rsp;
  wire  [L2_BURST_BITS-1:0] dram_req_burst = dram_req[592+:L2_BURST_BITS];
  ws_noc_link #(
      .WIDTH(FETCH), .DEPTH(2), .LATENCY(1), .CREDIT(1)
  ) to_dram (
      .clk_i, .rst_ni, .from_valid_i(fetch_valid), .from_ready_o(fetch_ready), .from_word_i(fetch),
      .to_valid_o(dram_req_valid), .to_ready_i(dram_req_ready), .to_word_o(dram_req)
  );
  ws_dram_channel #(
      .ENTRIES(DRAM_ENTRIES), .REPLIES(DRAM_REPLIES), .HIT_CAP(DRAM_HIT_CAP), .GROUPS(DRAM_GROUPS),
      .BANKS_PER_GROUP(DRAM_BANKS_PER_GROUP), .ROW_BITS(DRAM_ROW_BITS), .COLUMN_BITS(DRAM_COLUMN_BITS),
      .MEM_BURSTS(MEM_BURSTS), .READ_LATENCY(DRAM_READ_LATENCY), .RCD_RD(DRAM_RCD_RD), .RCD_WR(DRAM_RCD_WR),
      .RAS(DRAM_RAS), .RC(DRAM_RC), .RTP(DRAM_RTP), .WR_TO_PRE(DRAM_WR_TO_PRE), .RP(DRAM_RP), .RFC(DRAM_RFC),
      .RRD_S(DRAM_RRD_S), .RRD_L(DRAM_RRD_L), .FAW(DRAM_FAW), .AW32(DRAM_AW32), .CCD_S(DRAM_CCD_S),
      .CCD_L(DRAM_CCD_L), .RD_TO_WR(DRAM_RD_TO_WR), .WR_TO_RD_S(DRAM_WR_TO_RD_S), .WR_TO_RD_L(DRAM_WR_TO_RD_L),
      .PPD(DRAM_PPD), .REFI(DRAM_REFI), .REFRESH_OFF(DRAM_REFRESH_OFF), .COLUMN_MAP(DRAM_COLUMN_MAP),
      .BANK_MAP(DRAM_BANK_MAP), .ROW_MAP(DRAM_ROW_MAP)
  ) dram (
      .clk_i, .rst_ni, .now_i,
      .req_valid_i(dram_req_valid), .req_ready_o(dram_req_ready), .req_write_i(dram_req[FETCH-1]),
      .req_id_i(dram_req[FETCH-2-:32]), .req_burst_i(BURST_BITS'(dram_req_burst)), .req_tag_i(dram_req[576+:16]),
      .req_acknowledged_i(1'b0), .req_byte_mask_i(dram_req[512+:64]), .req_data_i(dram_req[0+:512]),
      .rsp_valid_o(dram_rsp_valid), .rsp_ready_i(dram_rsp_ready), .rsp_id_o(dram_rsp[BURST-1-:32]),
      .rsp_burst_o(dram_rsp[528+:BURST_BITS]), .rsp_tag_o(dram_rsp[512+:16]), .rsp_is_ack_o(dram_rsp_is_ack),
      .rsp_data_o(dram_rsp[0+:512]),
      .command_kind_o, .command_bank_o, .command_row_o, .command_column_o, .command_id_o
  );
  ws_noc_link #(
      .WIDTH(BURST), .DEPTH(FROM_DRAM + 3), .LATENCY(FROM_DRAM), .CREDIT(1)
  ) from_dram (
      .clk_i, .rst_ni, .from_valid_i(dram_rsp_valid), .from_ready_o(dram_rsp_ready), .from_word_i(dram_rsp),
      .to_valid_o(fetched_valid), .to_ready_i(fetched_ready), .to_word_o(fetched)
  );

  // Nothing is acknowledged by memory, and the SM has number 0. Bursts beyond the channel's memory do not exist.
  wire unused = &{1'b0, dram_rsp_is_ack, dram_req_burst};
endmodule
