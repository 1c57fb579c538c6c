dram/ws_dram_bank_sva.sv
dram/ws_dram_refresh_sva.sv
dram/ws_dram_scheduler_sva.sv
l1/ws_l1_miss_queue_sva.sv
l1/ws_l1_mshr_sva.sv
l2/ws_l2_frc_sva.sv
tracker/ws_tracker_sharer_table_sva.sv
tracker/ws_tracker_transfers_sva.sv
