-- ina.lua: dissects the INA header in RoCEv2 payloads (wire/PROTOCOL.md, version 1).
-- Used by Wireshark and tshark: -X lua_script:ina.lua. RoCEv2 on another port than 4791 needs -o infiniband.rroce.port:PORT.
-- Checks neither ICRC nor sequence numbers.
local ina = Proto("ina", "In-network allreduce")

local kinds = { [1] = "bind", [2] = "data", [3] = "scale", [4] = "partial", [5] = "result", [6] = "revoked",
                [16] = "register", [17] = "registered", [18] = "unregister", [19] = "refused" }
local ops = { [0] = "none", "sum", "min", "max", "and", "or", "xor" }
local lane_types = { [0] = "none", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64" }
local lane_bytes = { 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 }
local directions = { "forward", "backward" }
local refusals = { "no block is free", "the block is another's", "unknown version" }

local field = {
    magic = ProtoField.uint16("ina.magic", "Magic", base.HEX),
    version = ProtoField.uint8("ina.version", "Version"),
    kind = ProtoField.uint8("ina.kind", "Kind", base.DEC, kinds),
    op = ProtoField.uint8("ina.op", "Operation", base.DEC, ops),
    lane_type = ProtoField.uint8("ina.lane_type", "Lane type", base.DEC, lane_types),
    contributions = ProtoField.uint16("ina.contributions", "Contributions"),
    group = ProtoField.uint32("ina.group", "Group"),
    epoch = ProtoField.uint32("ina.epoch", "Epoch", base.HEX),
    seq = ProtoField.uint32("ina.seq", "Seq"),
    member = ProtoField.uint16("ina.member", "Member"),
    length = ProtoField.uint16("ina.length", "Length of the lanes"),
    lanes = ProtoField.bytes("ina.lanes", "Lanes"),
    trailer = ProtoField.uint32("ina.trailer", "Trailer (seq)"),
    direction = ProtoField.uint8("ina.bind.direction", "Direction", base.DEC, directions),
    members = ProtoField.uint16("ina.bind.members", "Members"),
    window = ProtoField.uint32("ina.bind.window", "Window"),
    first_seq = ProtoField.uint32("ina.bind.first_seq", "First seq"),
    place_bytes = ProtoField.uint32("ina.bind.place_bytes", "Bytes of a place"),
    mailbox = ProtoField.uint64("ina.bind.mailbox", "Mailbox", base.HEX),
    block = ProtoField.uint16("ina.relay.block", "QPN block"),
    reason = ProtoField.uint16("ina.relay.reason", "Reason", base.DEC, refusals),
    nonce = ProtoField.uint64("ina.relay.nonce", "Nonce", base.HEX),
    instance = ProtoField.uint64("ina.relay.instance", "Instance", base.HEX),
}
local wrong_trailer = ProtoExpert.new("ina.trailer.wrong", "The trailer is not seq", expert.group.MALFORMED, expert.severity.ERROR)
local cut_short = ProtoExpert.new("ina.short", "The payload is shorter than the header says", expert.group.MALFORMED, expert.severity.ERROR)

for _, one in pairs(field) do table.insert(ina.fields, one) end
ina.experts = { wrong_trailer, cut_short }

local function dissect_relay(buffer, tree)
    tree:add(field.block, buffer(4, 2))
    tree:add(field.reason, buffer(6, 2))
    tree:add(field.nonce, buffer(8, 8))
    tree:add(field.instance, buffer(16, 8))
end

local function dissect_bind(buffer, tree)
    tree:add(field.direction, buffer(24, 1))
    tree:add(field.members, buffer(26, 2))
    tree:add(field.window, buffer(28, 4))
    tree:add(field.first_seq, buffer(32, 4))
    tree:add(field.place_bytes, buffer(36, 4))
    tree:add(field.mailbox, buffer(40, 8))
end

local function dissect_chunk(buffer, tree, kind)
    local length = buffer(22, 2):uint()
    tree:add(field.op, buffer(4, 1))
    tree:add(field.lane_type, buffer(5, 1))
    tree:add(field.contributions, buffer(6, 2))
    tree:add(field.group, buffer(8, 4))
    tree:add(field.epoch, buffer(12, 4))
    tree:add(field.seq, buffer(16, 4))
    tree:add(field.member, buffer(20, 2))
    tree:add(field.length, buffer(22, 2))
    if buffer:len() < 28 + length then
        tree:add_proto_expert_info(cut_short)
        return
    end
    if kind == 1 and length == 24 then
        dissect_bind(buffer, tree)
    elseif length > 0 then
        local bytes = lane_bytes[buffer(5, 1):uint()]
        local item = tree:add(field.lanes, buffer(24, length))
        if bytes then item:append_text(string.format(" (%d lanes)", length / bytes)) end
    end
    local trailer = tree:add(field.trailer, buffer(24 + length, 4))
    if buffer(24 + length, 4):uint() ~= buffer(16, 4):uint() then trailer:add_proto_expert_info(wrong_trailer) end
end

function ina.dissector(buffer, packet, root)
    local kind = buffer(3, 1):uint()
    local name = kinds[kind] or "unknown"
    local tree = root:add(ina, buffer(), "In-network allreduce, " .. name)
    tree:add(field.magic, buffer(0, 2))
    tree:add(field.version, buffer(2, 1))
    tree:add(field.kind, buffer(3, 1))
    packet.cols.protocol = "INA"
    if kind >= 16 then
        dissect_relay(buffer, tree)
        packet.cols.info = string.format("%s, block %d", name, buffer(4, 2):uint())
    else
        dissect_chunk(buffer, tree, kind)
        packet.cols.info = string.format("%s, group %d, seq %u, member %d, %d contributions, %d bytes", name, buffer(8, 4):uint(),
            buffer(16, 4):uint(), buffer(20, 2):uint(), buffer(6, 2):uint(), buffer(22, 2):uint())
    end
    return buffer:len()
end

ina:register_heuristic("infiniband.payload", function(buffer, packet, root)
    if buffer:len() < 24 or buffer(0, 2):uint() ~= 0x494e or buffer(2, 1):uint() ~= 1 then return false end
    local kind = buffer(3, 1):uint()
    if kinds[kind] == nil or (kind < 16 and buffer:len() < 28) then return false end
    ina.dissector(buffer, packet, root)
    return true
end)
