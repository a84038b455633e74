import { config } from "zod/v4/core";

// The page's content security policy allows no code made at run time; zod would try, and the browser report it.
config({ jitless: true });
