import t from "tap";
import { compareScenes } from "../support/scenes.ts";

compareScenes(t, "vertical");
compareScenes(t, "horizontal");
