/** What clients of model servers may ask for and a gateway to one language model does not have. */

/** Paths below the version, and what they are, as the beginning of a sentence. */
const unserved: readonly (readonly [path: string, what: string])[] = [
  ["embeddings", "Embeddings are"],
  ["moderations", "Moderation is"],
  ["images", "Images are"],
  ["audio", "Speech is"],
  ["realtime", "Realtime speech is"],
  ["videos", "Videos are"],
  ["files", "Files are"],
  ["uploads", "Uploads are"],
  ["batches", "Batches are"],
  ["messages/batches", "Batches are"],
  ["skills", "Skills are"],
  ["assistants", "Assistants are"],
  ["threads", "Threads are"],
  ["conversations", "Stored conversations are"],
  ["vector_stores", "Vector stores are"],
  ["fine_tuning", "Fine-tuning is"],
  ["rerank", "Ranking is"],
  ["responses/compact", "Compaction is"],
  ["cachedContents", "Cached contents are"],
  ["fileSearchStores", "File search is"],
  ["tunedModels", "Tuned models are"],
  ["operations", "Long-running operations are"],
];

/** Why a path is refused, `below` the version and without slashes at its ends; null for one that is simply unknown. */
export function unservedAt(below: string): string | null {
  const found = unserved.find(([path]) => below === path || below.startsWith(`${path}/`));
  if (found === undefined) return null;
  return `${found[1]} not served here: this gateway answers calls of a language model. Point that client at another server.`;
}

/** True for paths that clients of model servers ask for without a version. */
export function isModelPath(below: string): boolean {
  return /^(chat|completions|responses|messages|models)(\/|$)/.test(below) || unservedAt(below) !== null;
}
