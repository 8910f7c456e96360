-- ina.lua: Wireshark and tshark dissect the INA header, bind, relay messages and messages of connections in RoCEv2 packets (wire/PROTOCOL.md).
-- Used as `tshark -X lua_script:ina.lua`, or from Wireshark's folder of personal plugins.
-- Leaves BTH, RETH and ICRC to Wireshark's own dissector, which does not verify the ICRC.
--
-- RoCEv2 on other ports than 4791 (a relay's, an unprivileged endpoint's) is found by its BTH; preference ina.any_port turns that off.

local ina = Proto("ina", "In-network allreduce")

local HEADER_BYTES, TRAILER_BYTES, BIND_BYTES, RELAY_BYTES, CONNECT_BYTES = 24, 4, 24, 24, 40
local MAGIC, VERSION = 0x494e, 1
local KIND_BIND, KIND_REVOKED, KIND_REGISTER, KIND_REFUSED, KIND_CONNECT, KIND_REJECT, KIND_RESET = 1, 6, 16, 19, 32, 34, 38

local kinds = { [1] = "bind", [2] = "data", [3] = "scale", [4] = "partial", [5] = "result", [6] = "revoked",
                [16] = "register", [17] = "registered", [18] = "unregister", [19] = "refused",
                [32] = "connect", [33] = "accept", [34] = "reject", [35] = "close", [36] = "closed", [37] = "inquire", [38] = "reset" }
local ops = { [0] = "none", [1] = "sum", [2] = "min", [3] = "max", [4] = "and", [5] = "or", [6] = "xor" }
local lane_types = { [0] = "none", [1] = "int8", [2] = "int16", [3] = "int32", [4] = "int64", [5] = "uint8", [6] = "uint16",
                     [7] = "uint32", [8] = "uint64", [9] = "float32", [10] = "float64" }
local lane_bytes = { 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 }
local directions = { [1] = "forward", [2] = "backward" }
local reasons = { [0] = "none", [1] = "no block is free", [2] = "the block is another's", [3] = "unknown version" }
local rejections = { [0] = "none", [1] = "no QP is free", [2] = "the interface that is meant is not here", [3] = "unknown version", [4] = "unusable address" }

local f = {
  magic = ProtoField.uint16("ina.magic", "Magic", base.HEX),
  version = ProtoField.uint8("ina.version", "Version"),
  kind = ProtoField.uint8("ina.kind", "Kind", base.DEC, kinds),
  op = ProtoField.uint8("ina.op", "Op", base.DEC, ops),
  lane_type = ProtoField.uint8("ina.lane_type", "Lane type", base.DEC, lane_types),
  contributions = ProtoField.uint16("ina.contributions", "Contributions"),
  group = ProtoField.uint32("ina.group", "Group"),
  epoch = ProtoField.uint32("ina.epoch", "Epoch", base.HEX),
  seq = ProtoField.uint32("ina.seq", "Seq"),
  member = ProtoField.uint16("ina.member", "Member"),
  length = ProtoField.uint16("ina.length", "Length"),
  lanes = ProtoField.bytes("ina.lanes", "Lanes"),
  lane = ProtoField.string("ina.lane", "Lane"),
  trailer = ProtoField.uint32("ina.trailer", "Trailer"),
  direction = ProtoField.uint8("ina.bind.direction", "Direction", base.DEC, directions),
  members = ProtoField.uint16("ina.bind.members", "Members"),
  window = ProtoField.uint32("ina.bind.window", "Window"),
  first_seq = ProtoField.uint32("ina.bind.first_seq", "First seq"),
  place_bytes = ProtoField.uint32("ina.bind.place_bytes", "Place bytes"),
  mailbox = ProtoField.uint64("ina.bind.mailbox", "Mailbox", base.HEX),
  block = ProtoField.uint16("ina.relay.block", "QPN block"),
  reason = ProtoField.uint16("ina.relay.reason", "Reason", base.DEC, reasons),
  nonce = ProtoField.uint64("ina.relay.nonce", "Nonce", base.HEX),
  instance = ProtoField.uint64("ina.relay.instance", "Instance", base.HEX),
  rejection = ProtoField.uint16("ina.connect.reason", "Reason", base.DEC, rejections),
  mtu = ProtoField.uint16("ina.connect.mtu", "MTU"),
  connect_nonce = ProtoField.uint64("ina.connect.nonce", "Nonce", base.HEX),
  connect_instance = ProtoField.uint64("ina.connect.instance", "Instance", base.HEX),
  qpn = ProtoField.uint32("ina.connect.qpn", "QPN of the sender", base.HEX),
  peer_qpn = ProtoField.uint32("ina.connect.peer_qpn", "QPN of the receiver", base.HEX),
  first_psn = ProtoField.uint32("ina.connect.first_psn", "First PSN"),
}
ina.fields = f

local e = {
  version = ProtoExpert.new("ina.version.unknown", "Unknown version", expert.group.PROTOCOL, expert.severity.WARN),
  length = ProtoExpert.new("ina.length.wrong", "Length does not fit the payload", expert.group.MALFORMED, expert.severity.ERROR),
  trailer = ProtoExpert.new("ina.trailer.wrong", "Trailer does not repeat seq", expert.group.MALFORMED, expert.severity.ERROR),
  kind = ProtoExpert.new("ina.kind.unknown", "Unknown kind", expert.group.PROTOCOL, expert.severity.WARN),
}
ina.experts = e

ina.prefs.any_port = Pref.bool("RoCEv2 on any UDP port", true, "Find RoCEv2 packets on other ports than 4791 by their BTH")
ina.prefs.lanes = Pref.uint("Lanes shown", 16, "How many lanes of a packet are shown as numbers")

local function lane_text(range, lane_type)
  if lane_type == 9 or lane_type == 10 then return tostring(range:le_float()) end
  local bytes = range:len()
  if bytes == 8 then
    return lane_type <= 4 and tostring(range:le_int64()) or tostring(range:le_uint64())
  end
  local value = range:le_uint()
  if lane_type <= 4 and value >= 2 ^ (8 * bytes - 1) then value = value - 2 ^ (8 * bytes) end
  return string.format("%d", value)
end

local function add_lanes(tree, range, lane_type)
  local item = tree:add(f.lanes, range)
  local bytes = lane_bytes[lane_type]
  if not bytes then return end
  for i = 0, math.min(ina.prefs.lanes, math.floor(range:len() / bytes)) - 1 do
    local lane = range(i * bytes, bytes)
    local text = lane_text(lane, lane_type)
    item:add(f.lane, lane, text):set_text(string.format("Lane %d: %s", i, text))
  end
end

local function add_bind(tree, range)
  for _, field in ipairs({ { f.direction, 0, 1 }, { f.members, 2, 2 }, { f.window, 4, 4 }, { f.first_seq, 8, 4 },
                           { f.place_bytes, 12, 4 }, { f.mailbox, 16, 8 } }) do
    tree:add(field[1], range(field[2], field[3]))
  end
end

local function add_chunk(tvb, tree, kind)
  local lane_type, length, seq = tvb(5, 1):uint(), tvb(22, 2):uint(), tvb(16, 4):uint()
  for _, field in ipairs({ { f.op, 4, 1 }, { f.lane_type, 5, 1 }, { f.contributions, 6, 2 }, { f.group, 8, 4 }, { f.epoch, 12, 4 },
                           { f.seq, 16, 4 }, { f.member, 20, 2 } }) do
    tree:add(field[1], tvb(field[2], field[3]))
  end
  local length_item = tree:add(f.length, tvb(22, 2))
  local text = string.format("%s group %u seq %u member %u", kinds[kind], tvb(8, 4):uint(), seq, tvb(20, 2):uint())
  if kind ~= KIND_BIND then
    text = string.format("%s %s %s contributions %u length %u", text, ops[tvb(4, 1):uint()] or "?", lane_types[lane_type] or "?",
                         tvb(6, 2):uint(), length)
  end
  if tvb:len() < HEADER_BYTES + length + TRAILER_BYTES or length % 8 ~= 0 then
    length_item:add_proto_expert_info(e.length)
    return text
  end
  if kind == KIND_BIND and length == BIND_BYTES then
    add_bind(tree, tvb(HEADER_BYTES, BIND_BYTES))
    text = string.format("%s %s", text, directions[tvb(HEADER_BYTES, 1):uint()] or "?")
  elseif length > 0 then
    add_lanes(tree, tvb(HEADER_BYTES, length), lane_type)
  end
  local trailer = tree:add(f.trailer, tvb(HEADER_BYTES + length, TRAILER_BYTES))
  if tvb(HEADER_BYTES + length, TRAILER_BYTES):uint() ~= seq then trailer:add_proto_expert_info(e.trailer) end
  return text
end

local function add_relay_message(tvb, tree, kind)
  for _, field in ipairs({ { f.block, 4, 2 }, { f.reason, 6, 2 }, { f.nonce, 8, 8 }, { f.instance, 16, 8 } }) do
    tree:add(field[1], tvb(field[2], field[3]))
  end
  local text = string.format("%s block %u", kinds[kind], tvb(4, 2):uint())
  if kind == KIND_REFUSED then text = text .. ": " .. (reasons[tvb(6, 2):uint()] or "?") end
  return text
end

local function add_connect_message(tvb, tree, kind)
  for _, field in ipairs({ { f.rejection, 4, 2 }, { f.mtu, 6, 2 }, { f.connect_nonce, 8, 8 }, { f.connect_instance, 16, 8 }, { f.qpn, 24, 4 },
                           { f.peer_qpn, 28, 4 }, { f.first_psn, 32, 4 } }) do
    tree:add(field[1], tvb(field[2], field[3]))
  end
  local text = string.format("%s qp 0x%06x peer 0x%06x", kinds[kind], tvb(24, 4):uint(), tvb(28, 4):uint())
  if kind == KIND_REJECT then text = text .. ": " .. (rejections[tvb(4, 2):uint()] or "?") end
  return text
end

function ina.dissector(tvb, pinfo, root)
  local tree = root:add(ina, tvb())
  tree:add(f.magic, tvb(0, 2))
  local version = tree:add(f.version, tvb(2, 1))
  local kind = tvb(3, 1):uint()
  local kind_item = tree:add(f.kind, tvb(3, 1))
  local text
  if tvb(2, 1):uint() ~= VERSION then
    version:add_proto_expert_info(e.version)
    text = string.format("version %u", tvb(2, 1):uint())
  elseif kind >= KIND_BIND and kind <= KIND_REVOKED then
    text = add_chunk(tvb, tree, kind)
  elseif kind >= KIND_REGISTER and kind <= KIND_REFUSED then
    text = add_relay_message(tvb, tree, kind)
  elseif kind >= KIND_CONNECT and kind <= KIND_RESET and tvb:len() >= CONNECT_BYTES then
    text = add_connect_message(tvb, tree, kind)
  else
    kind_item:add_proto_expert_info(e.kind)
    text = string.format("kind %u", kind)
  end
  tree:append_text(", " .. text)
  pinfo.cols.info:append(" INA " .. text)
  pinfo.cols.protocol = "INA"
end

ina:register_heuristic("infiniband.payload", function(tvb, pinfo, root)
  if tvb:len() < RELAY_BYTES or tvb(0, 2):uint() ~= MAGIC then return false end
  ina.dissector(tvb, pinfo, root)
  return true
end)

-- Sizes of BTH and extended headers of the RC opcodes, and of UD SEND ONLY.
local header_bytes = { [0] = 12, 12, 12, 16, 12, 16, 28, 12, 12, 16, 28, 32, 28, 16, 12, 16, 16, 16, 24, 40, 40, [0x16] = 16, [0x17] = 16, [0x64] = 20 }

-- A UDP payload that can be nothing else than RoCEv2 with the default partition key.
local function is_roce(tvb)
  if tvb:len() < 16 or tvb:len() % 4 ~= 0 then return false end
  local headers = header_bytes[tvb(0, 1):uint()]
  if not headers or tvb:len() < headers + 4 then return false end
  return tvb(1, 1):bitfield(4, 4) == 0 and tvb(2, 2):uint() == 0xffff and tvb(4, 1):bitfield(2, 6) == 0 and tvb(8, 1):bitfield(1, 7) == 0
end

ina:register_heuristic("udp", function(tvb, pinfo, root)
  if not ina.prefs.any_port or not is_roce(tvb) then return false end
  local roce = DissectorTable.get("udp.port"):get_dissector(4791)
  if not roce then return false end
  roce:call(tvb, pinfo, root)
  return true
end)
