import { fail } from "../core/dom.js";
