// An ONNX file of one product, written by hand: protobuf is a few bytes per field. Field numbers: onnx.proto.

function varint(value) {
  const bytes = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

const integer = (field, value) => [...varint(field << 3), ...varint(value)];
const message = (field, bytes) => [...varint((field << 3) | 2), ...varint(bytes.length), ...bytes];
const text = (field, value) => message(field, [...new TextEncoder().encode(value)]);

/** ValueInfoProto of a (size, size) float tensor. */
function matrix(name, size) {
  const shape = [size, size].flatMap((dim) => message(1, integer(1, dim)));
  const tensorType = [...integer(1, 1), ...message(2, shape)];
  return [...text(1, name), ...message(2, message(1, tensorType))];
}

/** AttributeProto of an integer. */
const attribute = (name, value) => message(5, [...text(1, name), ...integer(3, value), ...integer(20, 2)]);

/** NodeProto: MatMul, or Gemm where an operand is transposed. */
function node(form) {
  const ends = [...text(1, "A"), ...text(1, "B"), ...text(2, "C")];
  if (form === "NN") return [...ends, ...text(4, "MatMul")];
  return [...ends, ...text(4, "Gemm"), ...attribute(form === "NT" ? "transB" : "transA", 1)];
}

/** Bytes of the model C = A B in a form: NN, NT (B transposed) or TN (A transposed). */
export function matmulModel(size, form) {
  const graph = [
    ...message(1, node(form)),
    ...text(2, "product"),
    ...message(11, matrix("A", size)),
    ...message(11, matrix("B", size)),
    ...message(12, matrix("C", size)),
  ];
  const irVersion = 8;
  const opset = 17;
  return new Uint8Array([...integer(1, irVersion), ...message(7, graph), ...message(8, integer(2, opset))]);
}
